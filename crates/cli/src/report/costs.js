// Costs of stacks, and what they add up to.

const ALL = -1;

// What of a run is looked at: `thread` and `type` are numbers of its rows, or ALL.
function ownCosts(profiles, run, metric, { thread, type }) {
  const own = new Float64Array(profiles.stacks.count);
  if (!run) return own;
  for (const table of run.tables) {
    const place = table.metrics.indexOf(metric);
    if (place < 0) continue;
    const values = table.values[place];
    for (let row = 0; row < values.length; row++) {
      if (thread !== ALL && table.thread[row] !== thread) continue;
      if (type !== ALL && table.type[row] !== type) continue;
      own[table.stack[row]] += values[row];
    }
  }
  return own;
}

// The own costs of each stack and of all that begin with it.
function totalsOf({ caller }, own) {
  const totals = own.slice();
  for (let stack = totals.length - 1; stack > 0; stack--) totals[caller[stack]] += totals[stack];
  return totals;
}

function scaledBy(factor, costs) {
  return factor === 1 ? costs : costs.map((cost) => cost * factor);
}

// Everything that is shown of a choice: `now`, and `base` where two runs are compared.
function measure(profiles, { run, base, value, thread, type, scaled, from, to }) {
  const filter = { thread, type };
  const now = costsOf(profiles, ownCosts(profiles, partOf(profiles.runs[run], { from, to }), value, filter));
  if (base < 0) return { now, base: null, unit: UNITS[value] };
  const before = ownCosts(profiles, profiles.runs[base], value, filter);
  const sum = before.reduce((a, b) => a + b, 0);
  const factor = scaled && sum > 0 ? now.sum / sum : 1;
  return { now, base: costsOf(profiles, scaledBy(factor, before)), unit: UNITS[value] };
}

function costsOf(profiles, own) {
  const total = totalsOf(profiles.stacks, own);
  return { own, total, sum: total[0] };
}

// Own and total costs of each group; a stack counts once in a total, even where it has several frames of the group.
function groupCosts({ stacks }, groups, { own, total }) {
  const { frame, end, count } = stacks;
  const owns = new Float64Array(groups.names.length);
  const totals = new Float64Array(groups.names.length);
  const open = new Uint32Array(groups.names.length);
  const path = [];
  let depth = 0;
  for (let stack = 1; stack < count; stack++) {
    while (depth > 0 && end[path[depth - 1]] <= stack) open[groups.of[frame[path[--depth]]]]--;
    const group = groups.of[frame[stack]];
    owns[group] += own[stack];
    if (open[group]++ === 0) totals[group] += total[stack];
    path[depth++] = stack;
  }
  return { owns, totals };
}

// The sum of all stacks that have a frame of a wanted group.
function covered({ stacks }, groups, wanted, total) {
  const { frame, end, count } = stacks;
  let sum = 0;
  for (let stack = 1; stack < count;) {
    if (wanted[groups.of[frame[stack]]]) {
      sum += total[stack];
      stack = end[stack];
    } else {
      stack++;
    }
  }
  return sum;
}

// The values of rows by a key of theirs, as a map; `metrics` in order.
function rowCosts(run, metrics, { thread, type }, key) {
  const sums = new Map();
  for (const table of run?.tables ?? []) {
    const places = metrics.map((metric) => table.metrics.indexOf(metric));
    if (places.every((place) => place < 0)) continue;
    for (let row = 0; row < table.stack.length; row++) {
      if (thread !== ALL && table.thread[row] !== thread) continue;
      if (type !== ALL && table.type[row] !== type) continue;
      const of = key(table, row);
      let values = sums.get(of);
      if (!values) sums.set(of, (values = new Float64Array(metrics.length)));
      for (let at = 0; at < places.length; at++) if (places[at] >= 0) values[at] += table.values[places[at]][row];
    }
  }
  return sums;
}
