package com.acme;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.FutureTask;

/** A thread that works for tests. */
final class Worker {
    private static final ExecutorService THREAD = Executors.newSingleThreadExecutor(task -> {
        Thread thread = new Thread(task, "worker");
        thread.setDaemon(true);
        return thread;
    });

    private Worker() {}

    static <T> FutureTask<T> run(Callable<T> work) {
        FutureTask<T> task = new FutureTask<>(work);
        THREAD.execute(task);
        return task;
    }
}
