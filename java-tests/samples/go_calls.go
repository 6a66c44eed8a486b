// The native method of GoCalls: what it computes is known, and most of it runs on the stacks of goroutines.
package main

/*
#include <time.h>

static void wait_a_little(void) {
	struct timespec time = {0, 200000};
	nanosleep(&time, 0);
}

// Calls `GoCalls.twice`, by the places of GetStaticMethodID and CallStaticIntMethod among JNI's functions.
static int twice(void *env, void *class, int number) {
	void **functions = *(void ***)env;
	void *method = ((void *(*)(void *, void *, const char *, const char *))functions[113])(env, class, "twice", "(I)I");
	return ((int (*)(void *, void *, void *, ...))functions[129])(env, class, method, number);
}
*/
import "C"

import "unsafe"

type node struct {
	left, right *node
	padding     [6]int
}

//go:noinline
func tree(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{left: tree(depth - 1), right: tree(depth - 1)}
}

func (n *node) count() int {
	if n == nil {
		return 0
	}
	return 1 + n.left.count() + n.right.count()
}

// Needs about as much of a stack as a small goroutine has.
//
//go:noinline
func sum(upTo int) int {
	var room [4]int
	room[upTo&3] = upTo
	if upTo == 0 {
		return 0
	}
	return sum(upTo-1) + room[upTo&3]
}

//export Java_GoCalls_call
func Java_GoCalls_call(env unsafe.Pointer, class unsafe.Pointer, upTo C.int) C.int {
	done := make(chan int)
	trees := 0
	for i := 0; i < 8; i++ {
		go func() { done <- tree(10).count() }()
		trees += tree(8).count() - 511
		trees += <-done - 2047
	}
	C.wait_a_little()
	answer := make(chan int)
	go func() { answer <- sum(int(upTo)) }()
	right := <-answer
	return C.int(right+trees) + C.twice(env, class, 21) - 42
}

func main() {}
