// Trees of stacks whose places are made when they are looked at: stacks that begin with frames of the same groups are
// one box. Trees of callees grow from the outermost frames, trees of callers from the innermost.

class Box {
  constructor(parent, group) {
    this.parent = parent;
    this.group = group;
    this.depth = parent ? parent.depth + 1 : 0;
    this.now = 0;
    this.base = 0;
    this.stacks = [];
    this.children = null;
  }

  // A box is as wide as this: in a comparison as what both runs have together, so that what has vanished is there too.
  get width() {
    return this.now + this.base;
  }
}

class Tree {
  constructor(profiles, measured, groups) {
    this.profiles = profiles;
    this.stacks = profiles.stacks;
    this.measured = measured;
    this.groups = groups;
    this.root = new Box(null, -1);
    // The outermost box that is shown.
    this.top = this.root;
    this.root.now = measured.now.sum;
    this.root.base = measured.base?.sum ?? 0;
  }

  children(box) {
    if (!box.children) {
      const found = new Map();
      this.collect(box, found);
      box.children = [...found.values()].sort((a, b) => b.width - a.width);
    }
    return box.children;
  }

  child(found, parent, stack) {
    const group = this.groups.of[this.stacks.frame[stack]];
    let child = found.get(group);
    if (!child) found.set(group, (child = new Box(parent, group)));
    return child;
  }

  name(box) {
    return box.group < 0 ? 'all' : this.groups.names[box.group];
  }

  // The box that a path of groups leads to, as far as it leads.
  find(path) {
    let box = this.root;
    for (const group of path) {
      const next = this.children(box).find((child) => child.group === group);
      if (!next) break;
      box = next;
    }
    return box;
  }
}

class Callees extends Tree {
  // `outermost` are the stacks to begin with instead of all.
  constructor(profiles, measured, groups, outermost) {
    super(profiles, measured, groups);
    this.from = outermost;
    this.root.stacks.push(0);
    if (outermost) {
      this.root.now = outermost.reduce((sum, stack) => sum + measured.now.total[stack], 0);
      this.root.base = measured.base ? outermost.reduce((sum, stack) => sum + measured.base.total[stack], 0) : 0;
    }
  }

  collect(box, found) {
    if (box === this.root && this.from) {
      for (const stack of this.from) this.add(found, box, stack);
      return;
    }
    const { end } = this.stacks;
    for (const stack of box.stacks) {
      for (let below = stack + 1; below < end[stack]; below = end[below]) this.add(found, box, below);
    }
  }

  add(found, parent, stack) {
    const now = this.measured.now.total[stack];
    const base = this.measured.base?.total[stack] ?? 0;
    if (now + base === 0) return;
    const child = this.child(found, parent, stack);
    child.now += now;
    child.base += base;
    child.stacks.push(stack);
  }
}

class Callers extends Tree {
  // `innermost` are the stacks to begin with and their costs instead of all.
  constructor(profiles, measured, groups, innermost) {
    super(profiles, measured, groups);
    this.from = innermost;
    if (innermost) {
      this.root.now = innermost.reduce((sum, [, now]) => sum + now, 0);
      this.root.base = innermost.reduce((sum, [, , base]) => sum + base, 0);
    }
  }

  collect(box, found) {
    const { caller } = this.stacks;
    if (box !== this.root) {
      for (let at = 0; at < box.stacks.length; at++) {
        const above = caller[box.stacks[at]];
        if (above > 0) this.add(found, box, above, box.nows[at], box.bases[at]);
      }
    } else if (this.from) {
      for (const [stack, now, base] of this.from) this.add(found, box, stack, now, base);
    } else {
      const { now, base } = this.measured;
      for (let stack = 1; stack < this.stacks.count; stack++) {
        this.add(found, box, stack, now.own[stack], base?.own[stack] ?? 0);
      }
    }
  }

  // A stack stands here for those that it is the caller of, with their costs.
  add(found, parent, stack, now, base) {
    if (now + base === 0) return;
    const child = this.child(found, parent, stack);
    child.nows ??= [];
    child.bases ??= [];
    child.now += now;
    child.base += base;
    const last = child.stacks.length - 1;
    if (last >= 0 && child.stacks[last] === stack) {
      child.nows[last] += now;
      child.bases[last] += base;
      return;
    }
    child.stacks.push(stack);
    child.nows.push(now);
    child.bases.push(base);
  }
}

// The trees of one group's callers and callees. A stack counts once: with its callees from its outermost frame of the
// group on, with its callers from its innermost.
function around(profiles, measured, groups, group) {
  const { frame, end, count } = profiles.stacks;
  const { now, base } = measured;
  const outermost = [];
  const innermost = [];
  const open = [];
  for (let stack = 1; stack < count; stack++) {
    while (open.length && end[innermost[open.at(-1)][0]] <= stack) open.pop();
    if (groups.of[frame[stack]] !== group) continue;
    if (!open.length) outermost.push(stack);
    const costs = [stack, now.total[stack], base?.total[stack] ?? 0];
    if (open.length) {
      const above = innermost[open.at(-1)];
      above[1] -= costs[1];
      above[2] -= costs[2];
    }
    open.push(innermost.push(costs) - 1);
  }
  const trees = {
    callers: new Callers(profiles, measured, groups, innermost),
    callees: new Callees(profiles, measured, groups, outermost),
  };
  for (const tree of Object.values(trees)) [tree.top = tree.root] = tree.children(tree.root);
  return trees;
}

// The frames of a box, innermost first, as they are shown.
function framesOf(tree, box) {
  const frames = [];
  for (let at = box; at.group >= 0; at = at.parent) frames.push(tree.name(at));
  if (tree instanceof Callers) frames.reverse();
  return frames;
}
