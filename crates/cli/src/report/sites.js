// The views of rows: allocation sites, monitors, threads, runs.

const SITES = {
  allocations: {
    label: 'Allocation sites', metrics: ['alloc-bytes', 'alloc-objects', 'live-bytes', 'live-objects'],
    heads: ['Allocated', 'Objects', 'Live', 'Live objects'], of: 'class', kept: [0, 2],
    hint: 'The strong part of a bar is alive: it is kept. A click on a class shows its flame graph.',
  },
  monitors: {
    label: 'Monitors', metrics: ['contention', 'contentions'], heads: ['Waited', 'Times'], of: 'monitor', mean: [0, 1],
    hint: 'What threads waited for monitors that others held. A click on a class shows its flame graph.',
  },
  native: {
    label: 'Native sites', metrics: ['native-live-bytes', 'native-live-blocks', 'native-old-bytes', 'native-old-blocks', 'native-bytes',
      'native-blocks'],
    heads: ['Not freed', 'Blocks', 'Old', 'Old blocks', 'Allocated', 'Blocks allocated'], bar: [0, 2],
    hint: 'Estimates. The strong part of a bar is old: it may be a leak. A click on a method shows the flame graph.',
  },
};

class SitesView {
  constructor(app, host, kind) {
    this.app = app;
    this.kind = SITES[kind];
    this.tools = element('div', { className: 'tools' });
    host.append(this.tools);
    this.table = new Table(host, { label: this.kind.label, sorted: (sort) => app.state.set({ sort }) });
  }

  update() {
    const { app, kind } = this;
    const { state } = app;
    const groups = kind.of ? [['class', kind.of], ['site', `${kind.of} and method`], ['trace', `${kind.of} and stack`]]
      : [['site', 'method'], ['trace', 'stack']];
    this.tools.replaceChildren(
      choice('By', groups, this.group(), (group) => state.set({ group })),
      element('span', { className: 'hint' }, kind.hint),
      ...(this.hasAges() ? [ageLegend()] : []),
    );
    const rows = this.rows();
    this.table.show(this.columns(rows), rows, state.sort || kind.metrics[0], app.nothing());
  }

  // What has no classes is not grouped by them.
  group() {
    const { group } = this.app.state;
    return this.kind.of || group !== 'class' ? group : 'site';
  }

  hasAges() {
    return Boolean(this.kind.kept && this.app.run.history?.ages.length);
  }

  rows() {
    const { app, kind } = this;
    const { state, profiles } = app;
    const { stacks } = profiles;
    const lines = groupsOf(profiles, 'line');
    const methods = groupsOf(profiles, 'method');
    const width = Math.max(stacks.count, methods.names.length);
    const groupOf = {
      class: () => 0,
      site: (stack) => (stack === 0 ? 0 : methods.of[stacks.frame[stack]]),
      trace: (stack) => stack,
    }[this.group()] ?? (() => 0);
    const key = (table, row) => table.type[row] * width + groupOf(table.stack[row]);
    const sums = rowCosts(app.run, kind.metrics, state, key);
    const before = state.base < 0 ? null : rowCosts(profiles.runs[state.base], kind.metrics, state, key);
    const ages = this.hasAges() ? rowCosts(app.run, AGE_VALUES, state, key) : null;
    const rows = [];
    for (const of of new Set([...sums.keys(), ...(before?.keys() ?? [])])) {
      const zeros = new Float64Array(kind.metrics.length);
      const type = Math.floor(of / (width));
      const group = of % (width);
      const name = profiles.strings[type - 1] ?? (kind.of ? '<unknown>' : '');
      const frames = { class: () => [], site: () => [methods.names[group]],
        trace: () => framesBelow(profiles, lines, group) }[this.group()]?.() ?? [];
      const row = { type, name, frames, now: sums.get(of) ?? zeros, base: before?.get(of) ?? zeros, ages: ages?.get(of) };
      const any = row.now.some(Boolean) || row.base.some(Boolean);
      if (any && (app.finds(name) || frames.some((frame) => app.finds(frame)))) rows.push(row);
    }
    return rows;
  }

  columns(rows) {
    const { app, kind } = this;
    const units = kind.metrics.map((metric) => UNITS[metric] ?? 'count');
    const columns = kind.metrics.map((metric, at) => ({ key: metric, head: kind.heads[at], title: metric, number: true,
      of: (row) => row.now[at], cell: (row) => valueCell(row.now[at], units[at]) }));
    const largest = rows.reduce((most, row) => Math.max(most, row.now[0]), 0);
    if (kind.kept) {
      const [all, live] = kind.kept;
      columns.push({ key: 'kept', head: 'Kept', title: 'Live bytes of those allocated', number: true,
        of: (row) => row.now[live] / (row.now[all] || 1), cell: (row) => percent(row.now[live], row.now[all]) });
      columns.push({ key: 'bar', head: '', className: 'bars', cell: (row) => bar(row.now[all], largest, row.now[live]) });
      if (this.hasAges()) {
        columns.push({ key: 'ages', head: 'Ages', title: 'Of the live bytes', className: 'bars',
          cell: (row) => (row.ages ? ageBar(row.ages) : '') });
      }
    } else if (kind.bar) {
      const [all, part] = kind.bar;
      columns.push({ key: 'bar', head: '', className: 'bars', cell: (row) => bar(row.now[all], largest, row.now[part]) });
    } else {
      const [time, times] = kind.mean;
      columns.push({ key: 'mean', head: 'Mean', title: 'Waited each time', number: true,
        of: (row) => row.now[time] / (row.now[times] || 1),
        cell: (row) => valueCell(row.now[time] / (row.now[times] || 1), units[time]) });
      columns.push({ key: 'bar', head: '', className: 'bars', cell: (row) => bar(row.now[time], largest) });
    }
    if (app.state.base >= 0) {
      const change = (row) => row.now[0] - row.base[0];
      columns.push({ key: 'change', head: 'Change', number: true, of: (row) => Math.abs(change(row)),
        cell: (row) => element('span', { className: change(row) > 0 ? 'grew' : change(row) < 0 ? 'shrank' : '' },
          signed(change(row), units[0])) });
    }
    const heads = { class: 'Class', monitor: 'Monitor of class' };
    columns.push({ key: 'name', head: heads[kind.of] ?? 'Method', className: 'wide', of: (row) => row.name || row.frames[0],
      cell: (row) => this.nameCell(row) });
    return columns;
  }

  nameCell(row) {
    const { state } = this.app;
    const { kind } = this;
    const open = () => state.set({ view: 'flame', type: kind.of ? row.type : ALL, value: kind.metrics[0], zoom: [] }, true);
    const made = element('div', {}, link(kind.of ? row.name : row.frames[0] ?? '<no stack>', open));
    const line = (frame) => element('div', { className: 'frame', title: shown(frame, 2000) }, shown(frame, 160));
    made.append(...row.frames.slice(kind.of ? 0 : 1, 4).map(line));
    if (row.frames.length > 4) {
      made.append(element('details', {}, element('summary', {}, `${row.frames.length - 4} more`),
        ...row.frames.slice(4).map(line)));
    }
    if (row.frames.length > 1) {
      made.append(button('Copy stack', () => copy(row.frames.map((frame) => shown(frame, Infinity)).join('\n')),
        { className: 'small' }));
    }
    return made;
  }

  close() {}
}

// The frames of a stack, innermost first.
function framesBelow({ stacks }, groups, stack) {
  const frames = [];
  for (let at = stack; at > 0; at = stacks.caller[at]) frames.push(groups.names[groups.of[stacks.frame[at]]]);
  return frames;
}

class ThreadsView {
  constructor(app, host) {
    this.app = app;
    host.append(element('div', { className: 'tools' },
      element('span', { className: 'hint' }, 'A click on a thread shows its flame graph.')));
    this.table = new Table(host, { label: 'Threads', sorted: (sort) => app.state.set({ sort }) });
  }

  update() {
    const { app } = this;
    const { state, profiles } = app;
    const metrics = app.values();
    const key = (table, row) => table.thread[row];
    const sums = rowCosts(partOf(app.run, state), metrics, { ...state, thread: ALL }, key);
    const before = state.base < 0 ? null : rowCosts(profiles.runs[state.base], metrics, { ...state, thread: ALL }, key);
    const zeros = new Float64Array(metrics.length);
    const numbers = [...new Set([...sums.keys(), ...(before?.keys() ?? [])])];
    const rows = numbers.map((thread) => ({ thread, name: threadName(profiles, thread), now: sums.get(thread) ?? zeros,
      base: before?.get(thread) ?? zeros })).filter((row) => app.finds(row.name));
    const place = Math.max(metrics.indexOf(app.value), 0);
    const whole = [...sums.values()].reduce((sum, values) => sum + values[place], 0);
    const columns = metrics.map((metric, at) => ({ key: metric, head: metric, number: true, of: (row) => row.now[at],
      cell: (row) => valueCell(row.now[at], UNITS[metric]) }));
    columns.push({ key: 'share', head: `% of ${app.value}`, number: true, cell: (row) => percent(row.now[place], whole) },
      { key: 'bar', head: '', className: 'bars', cell: (row) => bar(row.now[place], whole) });
    if (before) {
      const change = (row) => row.now[place] - row.base[place];
      columns.push({ key: 'change', head: 'Change', number: true, of: (row) => Math.abs(change(row)),
        cell: (row) => signed(change(row), app.unit) });
    }
    columns.push(nameColumn('Thread', (row) => state.set({ view: 'flame', thread: row.thread, zoom: [] }, true)));
    this.table.show(columns, rows, state.sort || metrics[place], app.nothing());
  }

  close() {}
}

function threadName({ strings }, thread) {
  return thread ? strings[thread - 1] : '<any thread>';
}

class RunsView {
  constructor(app, host) {
    this.app = app;
    this.host = element('div', { className: 'runs' });
    host.append(this.host);
  }

  update() {
    const { app } = this;
    this.host.replaceChildren(...app.profiles.runs.map((run, number) => this.run(run, number)));
  }

  run(run, number) {
    const { app } = this;
    const sums = rowCosts(run, run.metrics, { thread: ALL, type: ALL }, () => 0).get(0) ?? [];
    const facts = [];
    const fact = (label, text) => facts.push(element('dt', {}, label), element('dd', {}, text));
    if (run.created) fact('began', new Date(run.created).toLocaleString());
    if (run.length) fact('length', `${run.length.toFixed(3)} s`);
    for (const [label, text] of run.facts) fact(shown(label, 40), shown(text, 5000));
    if (run.sections > 1) fact('dump', `${run.section} of ${run.sections}`);
    run.metrics.forEach((metric, at) => fact(metric, exactly(sums[at] ?? 0, UNITS[metric])));
    for (const remark of Object.values(run.remarks).flat()) fact('remark', shown(remark, 2000));
    for (const note of run.notes) fact('note', shown(note, 2000));
    if (run.fault) fact('damaged', shown(run.fault, 2000));
    const show = button('Show', () => app.state.set({ run: number, view: 'flame', zoom: [] }, true),
      { disabled: number === app.state.run });
    return element('section', {}, element('h2', {}, shown(app.runName(number), 200)), show,
      element('dl', {}, ...facts));
  }

  close() {}
}
