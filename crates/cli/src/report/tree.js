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
    // What each stack costs: in a tree of callers, as the caller of others.
    this.nows = [];
    this.bases = [];
    this.children = null;
  }

  add(stack, now, base) {
    this.now += now;
    this.base += base;
    const last = this.stacks.length - 1;
    if (last >= 0 && this.stacks[last] === stack) {
      this.nows[last] += now;
      this.bases[last] += base;
      return;
    }
    this.stacks.push(stack);
    this.nows.push(now);
    this.bases.push(base);
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

  // The boxes below one, the widest first and markers last; those narrower than `least` may be left out.
  children(box, least = 0) {
    if (!box.children || box.least > least) {
      const found = new Map((box.children ?? []).map((child) => [child.group, child]));
      this.collect(box, least, found);
      box.children = [...found.values()].sort((a, b) => this.isMarker(a) - this.isMarker(b) || b.width - a.width);
      box.least = least;
    }
    return box.children;
  }

  // Adds up first and makes boxes then: there may be a million that are too narrow to be seen.
  collect(box, least, found) {
    const { of } = this.groups;
    const { frame } = this.stacks;
    const widths = (this.widths ??= new Float64Array(this.groups.names.length));
    const groups = [];
    this.each(box, (stack, now, base) => {
      const group = of[frame[stack]];
      if (widths[group] === 0) groups.push(group);
      widths[group] += now + base;
    });
    const made = new Map();
    for (const group of groups) {
      if (widths[group] >= least && !found.has(group)) made.set(group, new Box(box, group));
      widths[group] = 0;
    }
    if (!made.size) return;
    this.each(box, (stack, now, base) => {
      const child = made.get(of[frame[stack]]);
      if (child) child.add(stack, now, base);
    });
    for (const [group, child] of made) found.set(group, child);
  }

  isMarker(box) {
    return Number(this.groups.owners[box.group] === null);
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

  // Every stack of the boxes below one that costs anything.
  each(box, visit) {
    const { end } = this.stacks;
    const { now, base } = this.measured;
    const one = (stack) => {
      const [nowHere, baseHere] = [now.total[stack], base ? base.total[stack] : 0];
      if (nowHere + baseHere > 0) visit(stack, nowHere, baseHere);
    };
    if (box === this.root && this.from) return this.from.forEach(one);
    for (const stack of box.stacks) {
      for (let below = stack + 1; below < end[stack]; below = end[below]) one(below);
    }
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

  // Every stack of the boxes below one with the costs of those that it is the caller of.
  each(box, visit) {
    const { caller, count } = this.stacks;
    const { now, base } = this.measured;
    const one = (stack, nowHere, baseHere) => {
      if (stack > 0 && nowHere + baseHere > 0) visit(stack, nowHere, baseHere);
    };
    if (box !== this.root) {
      for (let at = 0; at < box.stacks.length; at++) one(caller[box.stacks[at]], box.nows[at], box.bases[at]);
    } else if (this.from) {
      for (const [stack, nowHere, baseHere] of this.from) one(stack, nowHere, baseHere);
    } else {
      for (let stack = 1; stack < count; stack++) one(stack, now.own[stack], base ? base.own[stack] : 0);
    }
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
