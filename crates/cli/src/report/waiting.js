// The view of waits for locks: who waited, and who held the lock meanwhile.

const NO_HOLDER = '<no holder seen>';
const WAIT_GROUPS = [['wait', 'lock, who waited and who held it'], ['lock', 'lock'], ['waiter', 'who waited'], ['holder', 'who held it']];

class WaitingView {
  constructor(app, host) {
    this.app = app;
    this.tools = element('div', { className: 'tools' });
    host.append(this.tools);
    this.table = new Table(host, { label: 'Waiting', sorted: (sort) => app.state.set({ sort }) });
  }

  update() {
    const { app } = this;
    const { state } = app;
    const group = WAIT_GROUPS.some(([key]) => key === state.group) ? state.group : 'wait';
    this.tools.replaceChildren(
      choice('By', WAIT_GROUPS, group, (group) => state.set({ group })),
      element('span', { className: 'hint' },
        'Time that threads waited for locks, from samples. A holder has the method it was in, and those that called it.'),
    );
    const rows = this.rows(group);
    this.table.show(this.columns(rows, group), rows, state.sort || 'time', app.nothing());
  }

  rows(group) {
    const { app } = this;
    const rows = new Map();
    const add = (waits, of) => {
      for (const [waiter, lock, methods, time] of waits) {
        const holder = methods.length ? methods : [NO_HOLDER];
        const key = { wait: [waiter, lock, holder], lock: [lock], waiter: [waiter], holder: [holder] }[group];
        const name = JSON.stringify(key);
        const row = rows.get(name) ?? { waiter, lock, holder, now: 0, base: 0 };
        row[of] += time;
        rows.set(name, row);
      }
    };
    add(app.run.waits, 'now');
    if (app.state.base >= 0) add(app.profiles.runs[app.state.base].waits, 'base');
    const texts = (row) => ({ wait: [row.waiter, row.lock, ...row.holder], lock: [row.lock], waiter: [row.waiter],
      holder: row.holder }[group]);
    return [...rows.values()].filter((row) => texts(row).some((text) => app.finds(text)));
  }

  columns(rows, group) {
    const all = rows.reduce((sum, row) => sum + row.now, 0);
    const columns = [
      { key: 'time', head: 'Waited', number: true, of: (row) => row.now, cell: (row) => valueCell(row.now, 'nanoseconds') },
      { key: 'share', head: '%', number: true, cell: (row) => percent(row.now, all) },
      { key: 'bar', head: '', className: 'bars', cell: (row) => bar(row.now, all) },
    ];
    if (this.app.state.base >= 0) {
      columns.push({ key: 'change', head: 'Change', number: true, of: (row) => Math.abs(row.now - row.base),
        cell: (row) => signed(row.now - row.base, 'nanoseconds') });
    }
    const has = (part) => group === 'wait' || group === part;
    if (has('waiter')) columns.push({ key: 'waiter', head: 'Waited in', of: (row) => row.waiter, cell: (row) => nameText(row.waiter) });
    if (has('holder')) {
      columns.push({ key: 'holder', head: 'Because it was held in', of: (row) => row.holder.join(' '),
        cell: (row) => this.holderCell(row.holder) });
    }
    if (has('lock')) columns.push({ key: 'lock', head: 'Lock', className: 'wide', of: (row) => row.lock, cell: (row) => nameText(row.lock) });
    return columns;
  }

  holderCell([method, ...callers]) {
    const caller = (name) => element('div', { className: 'frame' }, 'called by ', nameText(name));
    return element('div', {}, nameText(method), ...callers.map(caller));
  }

  close() {}
}
