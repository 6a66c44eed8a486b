// The views of stacks: flame graph, top, callers and callees, difference.

// What is known of a box, as lines of elements.
function describe(tree, box) {
  const { measured } = tree;
  const { unit, now, base } = measured;
  const lines = [element('div', { className: 'title' }, shown(tree.name(box), 500))];
  const line = (label, value) => lines.push(element('div', {}, element('span', { className: 'label' }, label), value));
  const whole = now.sum;
  line(base ? 'now' : 'total', `${amount(box.now, unit)} · ${percent(box.now, whole)} of all`);
  if (base) {
    line('before', `${amount(box.base, unit)} · ${percent(box.base, base.sum)} of all`);
    line('change', `${signed(box.now - box.base, unit)} · ${relative(box.base, box.now)}${fate(box.now, box.base)}`);
  } else if (!(tree instanceof Callers) && box.group >= 0) {
    const own = box.stacks.reduce((sum, stack) => sum + now.own[stack], 0);
    line('self', `${amount(own, unit)} · ${percent(own, whole)}`);
  }
  return lines;
}

function fate(now, base) {
  if (now === 0 && base > 0) return ' · vanished';
  return base === 0 && now > 0 ? ' · appeared' : '';
}

class FlameView {
  constructor(app, host) {
    this.app = app;
    this.tools = element('div', { className: 'tools' });
    this.area = element('div', { className: 'grow' });
    this.foot = element('div', { className: 'foot' });
    host.append(this.tools, this.area, this.foot);
    this.flame = new Flame(this.area, {
      upward: true,
      label: 'Flame graph. Arrow keys move, Enter zooms in, Escape zooms out, c copies the stack.',
      on: {
        zoom: (box) => app.state.set({ zoom: pathOf(box) }, true),
        select: (box) => this.tellOf(box),
        describe: (box) => describe(this.tree, box),
        open: (box) => app.openMethod(this.tree, box),
      },
    });
  }

  update() {
    const { app } = this;
    const { state } = app;
    this.tree = app.tree(state.callers, state.lines ? 'line' : 'method');
    const zoomed = this.tree.find(state.zoom);
    const search = app.matches(this.tree.groups);
    this.showTools(search);
    this.flame.show(this.tree, zoomed, search, !state.icicle);
    this.tellOf(this.flame.selected);
  }

  showTools(search) {
    const { app } = this;
    const { state } = app;
    const parts = [
      choice('Stacks', [['false', 'from callers to callees'], ['true', 'from callees to callers']], state.callers,
        (value) => state.set({ callers: value === 'true', zoom: [] }, true)),
      choice('Grow', [['false', 'up (flame)'], ['true', 'down (icicle)']], state.icicle,
        (value) => state.set({ icicle: value === 'true' })),
      toggle('Lines', state.lines, (lines) => state.set({ lines, zoom: [] }), { title: 'Keep lines of a method apart' }),
      button('Zoom out', () => state.set({ zoom: [] }, true), { disabled: !state.zoom.length }),
    ];
    if (search) {
      const { now, base } = app.measured();
      const share = ({ total, sum }) => {
        const found = covered(app.profiles, this.tree.groups, search, total);
        return `${percent(found, sum)} (${quantity(found, app.unit)})`;
      };
      parts.push(element('span', { className: 'found', id: 'found' },
        `found in ${share(now)}${base ? `, before in ${share(base)}` : ''}`));
    }
    if (app.measured().base) parts.push(changeLegend());
    this.tools.replaceChildren(...parts);
  }

  tellOf(box) {
    if (!box) return;
    const { app, tree } = this;
    const known = describe(tree, box);
    const inReport = !app.profiles.start.flame_only;
    const actions = [
      button('Zoom in', () => app.state.set({ zoom: pathOf(box) }, true), { title: 'Enter' }),
      button('Copy stack', () => copy(stackText(tree, box)), { title: 'c', id: 'copy' }),
    ];
    if (inReport && box.group >= 0) {
      actions.push(button('Callers & callees', () => app.openMethod(tree, box), { title: 's' }));
    }
    this.foot.replaceChildren(element('div', { className: 'about' }, ...known),
      element('div', { className: 'actions' }, ...actions));
  }

  close() {
    this.flame.close();
  }
}

function changeLegend() {
  const sample = (kind, text) => element('span', { className: `sample ${kind}` }, text);
  return element('span', { className: 'legend', title: 'A box is as wide as both runs together.' },
    sample('grew', 'grew'), sample('grew new', '+ appeared'), sample('shrank', 'shrank'),
    sample('shrank gone', '− vanished'));
}

function stackText(tree, box) {
  return framesOf(tree, box).map((frame) => shown(frame, Infinity)).join('\n');
}

function pathOf(box) {
  const path = [];
  for (let at = box; at.group >= 0; at = at.parent) path.unshift(at.group);
  return path;
}

const BYS = [['method', 'method'], ['line', 'line'], ['class', 'class'], ['package', 'package']];

// Rows of costs by a kind of group, those that match the search.
function costRows(app, by, all = false) {
  const groups = groupsOf(app.profiles, by);
  const { now, base } = app.measured();
  const [costs, before] = app.kept(`costs ${by} ${app.measureKey()}`, () =>
    [now, base].map((costs) => costs && groupCosts(app.profiles, groups, costs)));
  const rows = [];
  for (let group = 0; group < groups.names.length; group++) {
    const row = { group, name: groups.names[group], own: costs.owns[group], total: costs.totals[group],
      baseOwn: before?.owns[group] ?? 0, baseTotal: before?.totals[group] ?? 0 };
    if (row.total + row.baseTotal > 0 && (all || app.finds(row.name))) rows.push(row);
  }
  return rows;
}

function nameColumn(head, open) {
  return { key: 'name', head, className: 'wide', of: (row) => row.name,
    cell: (row) => (open ? link(row.name, () => open(row)) : nameText(row.name)) };
}

function costColumns(app, by, open) {
  const { now } = app.measured();
  const number = (key, head, title) => ({ key, head, title, number: true, of: (row) => row[key],
    cell: (row) => valueCell(row[key], app.unit) });
  const share = (key) => ({ key: `${key}%`, head: '%', number: true, cell: (row) => percent(row[key], now.sum) });
  return [
    number('own', 'Self', 'Spent in it itself'), share('own'),
    number('total', 'Total', 'Spent in it and in all that it called; a stack counts once'), share('total'),
    { key: 'bar', head: '', className: 'bars', cell: (row) => bar(row.total, now.sum, row.own) },
    nameColumn(capital(by), open),
  ];
}

function changeColumns(app, by, rows, open) {
  const { unit } = app;
  const change = (key, base) => (row) => row[key] - row[base];
  const [own, total] = [change('own', 'baseOwn'), change('total', 'baseTotal')];
  const largest = rows.reduce((most, row) => Math.max(most, Math.abs(own(row))), 0);
  const number = (key, head, of, cell, title) => ({ key, head, title, number: true, of, cell });
  const changed = (of) => (row) => element('span', { className: of(row) > 0 ? 'grew' : of(row) < 0 ? 'shrank' : '',
    title: exactly(of(row), unit) }, signed(of(row), unit));
  return [
    number('change', 'Self change', (row) => Math.abs(own(row)), changed(own), 'Largest change first'),
    { key: 'relative', head: '%', number: true, cell: (row) => relative(row.baseOwn, row.own) },
    { key: 'bar', head: '', className: 'bars', cell: (row) => changeBar(own(row), largest) },
    number('before', 'Before', (row) => row.baseOwn, (row) => valueCell(row.baseOwn, unit)),
    number('own', 'Now', (row) => row.own, (row) => valueCell(row.own, unit)),
    number('totalChange', 'Total change', (row) => Math.abs(total(row)), changed(total)),
    { key: 'fate', head: '', cell: (row) => badge(row) },
    nameColumn(capital(by), open),
  ];
}

function capital(word) {
  return word[0].toUpperCase() + word.slice(1);
}

function badge(row) {
  const text = fate(row.total, row.baseTotal).replace(' · ', '');
  return text ? element('span', { className: `badge ${text}` }, text) : '';
}

class TopView {
  constructor(app, host) {
    this.app = app;
    this.tools = element('div', { className: 'tools' });
    host.append(this.tools);
    this.table = new Table(host, { label: 'Costs', sorted: (sort) => app.state.set({ sort }) });
  }

  update() {
    const { app } = this;
    const { state } = app;
    this.tools.replaceChildren(choice('By', BYS, state.by, (by) => state.set({ by })), app.sumText());
    const rows = costRows(app, state.by);
    const open = state.by === 'method' ? (row) => state.set({ view: 'around', method: row.group }, true) : null;
    if (app.measured().base) {
      this.table.show(changeColumns(app, state.by, rows, open), rows, state.sort || 'change', app.nothing());
    } else {
      this.table.show(costColumns(app, state.by, open), rows, state.sort || 'own', app.nothing());
    }
  }

  close() {}
}

const ONLY = [['all', 'all changes'], ['grew', 'what grew'], ['shrank', 'what shrank'], ['appeared', 'what appeared'],
  ['vanished', 'what vanished']];

class DifferenceView {
  constructor(app, host) {
    this.app = app;
    this.sums = element('div', { className: 'cards' });
    this.tools = element('div', { className: 'tools' });
    host.append(this.sums, this.tools);
    this.table = new Table(host, { label: 'Changes', sorted: (sort) => app.state.set({ sort }) });
  }

  update() {
    const { app } = this;
    const { state } = app;
    this.sums.replaceChildren(...app.values().map((value) => this.card(value)));
    this.tools.replaceChildren(
      choice('By', BYS, state.by, (by) => state.set({ by })),
      choice('Show', ONLY, state.only, (only) => state.set({ only })),
      button('As a flame graph', () => state.set({ view: 'flame', zoom: [] }, true)),
    );
    const rows = costRows(app, state.by).filter((row) => keeps(row, state.only));
    const open = state.by === 'method' ? (row) => state.set({ view: 'around', method: row.group }, true) : null;
    this.table.show(changeColumns(app, state.by, rows, open), rows, state.sort || 'change', 'Nothing has changed so.');
  }

  card(value) {
    const { app } = this;
    const { now, base, unit } = app.measured(value);
    return element('button', { type: 'button', className: value === app.value ? 'card chosen' : 'card',
      onclick: () => app.state.set({ value }) },
    element('span', { className: 'label' }, value),
    element('span', { className: 'large' }, relative(base.sum, now.sum)),
    element('span', {}, `${quantity(base.sum, unit)} → ${quantity(now.sum, unit)}`));
  }

  close() {}
}

function keeps(row, only) {
  const change = row.own - row.baseOwn || row.total - row.baseTotal;
  switch (only) {
    case 'grew': return change > 0;
    case 'shrank': return change < 0;
    case 'appeared': return row.baseTotal === 0;
    case 'vanished': return row.total === 0;
    default: return change !== 0;
  }
}

class AroundView {
  constructor(app, host) {
    this.app = app;
    this.list = element('div', { className: 'list' });
    this.middle = element('div', { className: 'middle' });
    const above = element('div', { className: 'half' });
    const below = element('div', { className: 'half' });
    const graphs = element('div', { className: 'graphs' }, element('h2', {}, 'Callers'), above, this.middle,
      element('h2', {}, 'Callees'), below);
    host.append(element('div', { className: 'around' }, this.list, graphs));
    this.table = new Table(this.list, { label: 'Methods', sorted: (sort) => app.state.set({ sort }) });
    this.callers = this.graph(above, true, 'Callers');
    this.callees = this.graph(below, false, 'Callees');
  }

  graph(host, upward, label) {
    const flame = new Flame(host, {
      upward,
      label: `${label}. Arrow keys move, Enter zooms in, Escape zooms out, s opens a method.`,
      on: {
        zoom: (box) => flame.show(flame.tree, box, flame.matches),
        describe: (box) => describe(flame.tree, box),
        open: (box) => box.group >= 0 && this.app.state.set({ method: box.group }, true),
      },
    });
    return flame;
  }

  update() {
    const { app } = this;
    const { state } = app;
    const groups = groupsOf(app.profiles, 'method');
    const rows = costRows(app, 'method');
    const method = state.method >= 0 && state.method < groups.names.length ? state.method : largest(rows);
    this.showList(rows, method);
    const key = `${app.measureKey()} ${method}`;
    if (key !== this.key) {
      this.key = key;
      this.trees = around(app.profiles, app.measured(), groups, method);
      this.show(rowOf(app, groups, method));
    }
  }

  showList(rows, method) {
    const { app } = this;
    const { state } = app;
    const comparing = Boolean(app.measured().base);
    const value = { key: 'total', head: comparing ? 'Total now' : 'Total', number: true, of: (row) => row.total,
      cell: (row) => valueCell(row.total, app.unit) };
    const own = { key: 'own', head: 'Self', number: true, of: (row) => row.own,
      cell: (row) => valueCell(row.own, app.unit) };
    const named = nameColumn('Method');
    named.cell = (row) => {
      const made = link(withoutPackage(row.name), () => state.set({ method: row.group }, true));
      made.title = shown(row.name, 2000);
      if (row.group === method) made.setAttribute('aria-current', 'true');
      return made;
    };
    this.table.show([value, own, named], rows, ['total', '-total', 'own', '-own', 'name', '-name'].includes(state.sort)
      ? state.sort : 'total', app.nothing());
  }

  show(row) {
    const { callers, callees } = this.trees;
    this.middle.replaceChildren(...this.describe(row),
      element('div', { className: 'hint' }, 'A click zooms in; a double click opens the callers and callees of a box.'));
    this.callers.show(callers, callers.top, null);
    this.callees.show(callees, callees.top, null);
  }

  close() {
    this.callers.close();
    this.callees.close();
  }

  describe({ name, own, total, baseOwn, baseTotal }) {
    const { now, base, unit } = this.app.measured();
    const line = (label, value, whole) => element('div', {}, element('span', { className: 'label' }, label),
      `${quantity(value, unit)} · ${percent(value, whole)} of all`);
    const lines = [element('div', { className: 'title' }, shown(name, 500)),
      line('total', total, now.sum), line('self', own, now.sum)];
    if (base) lines.push(line('total before', baseTotal, base.sum), line('self before', baseOwn, base.sum));
    return lines;
  }
}

function rowOf(app, groups, group) {
  return costRows(app, 'method', true).find((row) => row.group === group)
    ?? { name: groups.names[group] ?? 'nothing', own: 0, total: 0, baseOwn: 0, baseTotal: 0 };
}

function largest(rows) {
  return rows.reduce((most, row) => (row.own > (most?.own ?? -1) ? row : most), null)?.group ?? -1;
}
