// The view of memory: where the resident set of the process was, as areas over time.

class MemoryView {
  constructor(app, host) {
    this.app = app;
    this.tools = element('div', { className: 'tools' });
    this.chart = element('div', { className: 'chart' });
    this.readout = element('div', { className: 'readout', ariaLive: 'polite' });
    host.append(this.tools, this.chart, this.readout);
    this.table = new Table(host, { label: 'Parts of the memory', sorted: (sort) => app.state.set({ sort }) });
  }

  get memory() {
    return this.app.run.history?.memory;
  }

  update() {
    const { app, memory } = this;
    if (!memory) {
      this.tools.replaceChildren(element('span', { className: 'hint' },
        'The memory of this run was not recorded; blackbox=y records it.'));
      this.chart.replaceChildren();
      this.readout.replaceChildren();
      this.table.show(this.columns(), [], 'most', '');
      return;
    }
    const keys = memory.parts.map((name, part) =>
      element('span', { className: 'key' }, element('span', { className: `patch part${part}` }), name));
    this.tools.replaceChildren(
      element('span', { className: 'legend' }, ...keys.reverse()),
      element('span', { className: 'hint' },
        `The memory of the process that is in RAM, at ${COUNT.format(memory.looks.length)} looks. The parts add up to the resident set.`),
    );
    this.draw();
    this.table.show(this.columns(), this.rows(), app.state.sort || 'most', app.nothing());
  }

  draw() {
    const { looks, parts, millis } = this.memory;
    const { width, height, left, right, top, bottom } = CHART;
    const limits = looks.flatMap(([, , limit]) => (limit ? [limit[1]] : []));
    const resident = (look) => look[1].reduce((sum, bytes) => sum + bytes, 0);
    const largest = Math.max(...looks.map(resident));
    // A limit that is far away would leave no room for the areas.
    const shownLimit = Math.max(0, ...limits.filter((limit) => limit < largest * 4));
    const most = roundUp(Math.max(largest, shownLimit * 1.02, 1));
    const end = Math.max(millis, looks.at(-1)[0], 1);
    const x = (time) => left + (time / end) * (width - left - right);
    const y = (bytes) => height - bottom - (bytes / most) * (height - top - bottom);
    const drawn = [];
    const below = looks.map(() => 0);
    parts.forEach((name, part) => {
      const lower = looks.map(([time], at) => `${x(time).toFixed(1)} ${y(below[at]).toFixed(1)}`);
      looks.forEach(([, bytes], at) => { below[at] += bytes[part]; });
      const upper = looks.map(([time], at) => `${x(time).toFixed(1)} ${y(below[at]).toFixed(1)}`);
      drawn.push(svg('path', { class: `part${part}`, d: `M${upper.join('L')}L${lower.reverse().join('L')}Z` },
        svg('title', {}, name)));
    });
    for (let part = 0; part <= 4; part++) {
      const value = (most * part) / 4;
      const time = (end * part) / 4;
      drawn.push(svg('line', { class: 'grid', x1: left, x2: width - right, y1: y(value), y2: y(value) }),
        svg('text', { class: 'scale', x: left - 8, y: y(value) + 4, 'text-anchor': 'end' }, quantity(value, 'bytes')),
        svg('text', { class: 'scale', x: x(time), y: height - 8,
          'text-anchor': part === 4 ? 'end' : part ? 'middle' : 'start' }, seconds(time)));
    }
    if (shownLimit) {
      drawn.push(svg('line', { class: 'peak', x1: left, x2: width - right, y1: y(shownLimit), y2: y(shownLimit) }),
        svg('text', { class: 'peak', x: left + 5, y: y(shownLimit) - 5 }, `limit ${quantity(shownLimit, 'bytes')}`));
    }
    const mark = svg('line', { class: 'look', x1: -9, x2: -9, y1: top, y2: height - bottom });
    const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img',
      'aria-label': 'The parts of the resident set over time' }, ...drawn, mark);
    picture.addEventListener('pointermove', (event) => {
      const box = picture.getBoundingClientRect();
      const time = (((event.clientX - box.left) / box.width) * width - left) / (width - left - right) * end;
      const near = looks.reduce((best, look) => (Math.abs(look[0] - time) < Math.abs(best[0] - time) ? look : best));
      mark.setAttribute('x1', x(near[0]));
      mark.setAttribute('x2', x(near[0]));
      this.tell(near);
    });
    this.chart.replaceChildren(picture);
    this.tell(looks.at(-1));
  }

  tell([time, bytes, limit]) {
    const { parts } = this.memory;
    const named = parts.map((name, part) => [name, bytes[part]]).filter(([, value]) => value > 0);
    named.sort(([, one], [, other]) => other - one);
    const sum = bytes.reduce((all, value) => all + value, 0);
    this.readout.replaceChildren(
      element('strong', {}, `${quantity(sum, 'bytes')} resident`), ` at ${seconds(time)}: `,
      named.map(([name, value]) => `${name} ${quantity(value, 'bytes')}`).join(', '),
      limit ? `; ${quantity(limit[0], 'bytes')} of a limit of ${quantity(limit[1], 'bytes')}` : '',
    );
  }

  rows() {
    const { parts, looks } = this.memory;
    const rows = parts.map((name, part) => {
      const values = looks.map(([, bytes]) => bytes[part]);
      return { name, part, first: values[0], most: Math.max(...values), last: values.at(-1) };
    });
    return rows.filter(({ name }) => this.app.finds(name));
  }

  columns() {
    const number = (key, head, title, of) =>
      ({ key, head, title, number: true, of, cell: (row) => valueCell(of(row), 'bytes') });
    return [
      number('first', 'First', 'At the first look', (row) => row.first),
      number('most', 'Most', 'The most at a look', (row) => row.most),
      number('last', 'Last', 'At the last look', (row) => row.last),
      number('grown', 'Grown', 'From the first look to the last', (row) => Math.max(row.last - row.first, 0)),
      { key: 'name', head: 'Part', className: 'wide', of: (row) => row.name,
        cell: (row) => element('span', { className: 'key' }, element('span', { className: `patch part${row.part}` }), row.name) },
    ];
  }

  close() {}
}
