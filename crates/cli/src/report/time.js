// The view of time: what was alive, as a chart, in all or of one site.

const SVG = 'http://www.w3.org/2000/svg';
// A curve's key, label, unit, and the place of its value in a point.
const CURVES = [['bytes', 'alive, bytes', 'bytes', 2], ['objects', 'alive, objects', 'count', 3],
  ['allocated', 'allocated, bytes', 'bytes', 4]];
const CHART = { width: 960, height: 280, left: 84, right: 16, top: 22, bottom: 30 };
const AGES = ['younger than 1 s, or not known better', '1 s and older', '10 s and older', '1 min and older',
  '10 min and older', '1 h and older', 'from before the profile'];
const AGE_VALUES = AGES.map((_, age) => `age ${age}`);

function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// The ages of live objects as a table like that of a run's values.
function ageTable(ages) {
  const column = (place) => Uint32Array.from(ages, (row) => row[place]);
  const values = AGE_VALUES.map((_, age) => Float64Array.from(ages, (row) => (row[3] === age ? row[4] : 0)));
  return { metrics: AGE_VALUES, stack: column(0), thread: column(1), type: column(2), values };
}

function ageBar(bytes) {
  const whole = bytes.reduce((sum, value) => sum + value, 0);
  const lines = AGES.map((name, age) => bytes[age] > 0 && `${name}: ${quantity(bytes[age], 'bytes')}`);
  const made = element('span', { className: 'bar', title: lines.filter(Boolean).join('\n') });
  let from = 0;
  bytes.forEach((value, age) => {
    if (!value) return;
    const part = element('span', { className: `age${age}` });
    part.style.left = `${(from / whole) * 100}%`;
    part.style.width = `${(value / whole) * 100}%`;
    from += value;
    made.append(part);
  });
  return made;
}

function ageLegend() {
  const parts = AGES.map((name, age) =>
    element('span', { className: 'key' }, element('span', { className: `patch age${age}` }), name));
  return element('span', { className: 'legend', title: 'The ages of live bytes' }, ...parts);
}

function seconds(millis) {
  const time = millis / 1000;
  if (time < 120) return `${THREE.format(time)} s`;
  return time < 7200 ? `${THREE.format(time / 60)} min` : `${THREE.format(time / 3600)} h`;
}

// A round number that is at least this.
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value || 1));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value) ?? value;
}

class TimeView {
  constructor(app, host) {
    this.app = app;
    this.tools = element('div', { className: 'tools' });
    this.chart = element('div', { className: 'chart' });
    this.readout = element('div', { className: 'readout', ariaLive: 'polite' });
    host.append(this.tools, this.chart, this.readout);
    this.table = new Table(host, { label: 'Sites over time', sorted: (sort) => app.state.set({ sort }) });
  }

  get course() {
    return this.app.run.history?.course;
  }

  update() {
    const { app, course } = this;
    const { state } = app;
    if (!course?.all.length) {
      this.tools.replaceChildren(element('span', { className: 'hint' }, 'This run has no course over time.'));
      this.chart.replaceChildren();
      this.readout.replaceChildren();
      this.table.show(this.columns(), [], 'most', '');
      return;
    }
    const site = course.sites[state.site];
    this.tools.replaceChildren(
      choice('Curve', CURVES.map(([key, label]) => [key, label]), state.curve, (curve) => state.set({ curve })),
      button('All sites', () => state.set({ site: -1 }, true), { disabled: !site }),
      element('span', { className: 'hint' },
        `Known to ${seconds(course.all.at(-1)[0])} of ${seconds(course.millis)}, at looks after collections; `
        + 'of the looks in a step the most bytes and the fewest objects. A click on a site shows its own course.'),
      ...(course.outlook ? [element('span', { className: 'hint' }, course.outlook)] : []),
    );
    this.draw(site);
    this.table.show(this.columns(), this.rows(), state.sort || 'most', app.nothing());
  }

  draw(site) {
    const { app, course } = this;
    const [, label, unit, place] = CURVES.find(([key]) => key === app.state.curve) ?? CURVES[0];
    const points = site ? site.points : course.all;
    const { width, height, left, right, top, bottom } = CHART;
    const most = roundUp(points.reduce((largest, point) => Math.max(largest, point[place]), 1));
    const end = Math.max(course.millis, 1);
    const x = (millis) => left + (millis / end) * (width - left - right);
    const y = (value) => height - bottom - (value / most) * (height - top - bottom);
    const parts = [];
    for (let part = 0; part <= 4; part++) {
      const value = (most * part) / 4;
      const time = (end * part) / 4;
      parts.push(svg('line', { class: 'grid', x1: left, x2: width - right, y1: y(value), y2: y(value) }),
        svg('text', { class: 'scale', x: left - 8, y: y(value) + 4, 'text-anchor': 'end' }, quantity(value, unit)),
        svg('text', { class: 'scale', x: x(time), y: height - 8,
          'text-anchor': part === 4 ? 'end' : part ? 'middle' : 'start' }, seconds(time)));
    }
    const line = points.map((point, at) => `${at ? 'L' : 'M'}${x(point[0]).toFixed(1)} ${y(point[place]).toFixed(1)}`).join('');
    if (points.length) {
      const area = `${line}L${x(points.at(-1)[0]).toFixed(1)} ${y(0)}L${x(points[0][0]).toFixed(1)} ${y(0)}Z`;
      parts.push(svg('path', { class: 'area', d: area }), svg('path', { class: 'curve', d: line }));
    }
    const { peak } = app.run.history;
    if (peak) {
      const at = x(peak[1]);
      const anchor = at > width * 0.7 ? 'end' : 'start';
      parts.push(svg('line', { class: 'peak', x1: at, x2: at, y1: top, y2: height - bottom }),
        svg('text', { class: 'peak', x: at + (anchor === 'end' ? -5 : 5), y: top - 6, 'text-anchor': anchor },
          `peak: collection ${peak[0]} at ${seconds(peak[1])}`));
    }
    const dot = svg('circle', { class: 'dot', r: 4, cx: -9, cy: -9 });
    const name = site ? this.nameOf(site) : 'all sites';
    const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img',
      'aria-label': `${label} of ${shown(name, 200)} over time` }, ...parts, dot);
    picture.addEventListener('pointermove', (event) => {
      const box = picture.getBoundingClientRect();
      const millis = (((event.clientX - box.left) / box.width) * width - left) / (width - left - right) * end;
      const near = points.reduce((best, point) =>
        (Math.abs(point[0] - millis) < Math.abs((best?.[0] ?? Infinity) - millis) ? point : best), null);
      if (!near) return;
      dot.setAttribute('cx', x(near[0]));
      dot.setAttribute('cy', y(near[place]));
      this.tell(name, near);
    });
    this.chart.replaceChildren(picture);
    this.tell(name, points.at(-1), site?.suspected);
  }

  tell(name, point, suspected) {
    if (!point) return this.readout.replaceChildren();
    const [millis, collections, bytes, objects, allocated, made] = point;
    this.readout.replaceChildren(
      element('strong', {}, shown(name, 300)),
      ` at ${seconds(millis)}, after ${COUNT.format(collections)} collections: ${quantity(bytes, 'bytes')} and `
      + `${COUNT.format(objects)} objects alive, ${quantity(allocated, 'bytes')} in ${COUNT.format(made)} objects allocated`,
      suspected ? element('div', { className: 'warning' }, `Its objects pile up: ${suspected}`) : '',
    );
    return undefined;
  }

  nameOf(site) {
    const { profiles } = this.app;
    const methods = groupsOf(profiles, 'method');
    const type = site.type ? profiles.strings[site.type - 1] : '<unknown>';
    return site.stack ? `${type}, ${methods.names[methods.of[profiles.stacks.frame[site.stack]]]}` : type;
  }

  rows() {
    const { app, course } = this;
    const lines = groupsOf(app.profiles, 'line');
    const rows = course.sites.map((site, number) => {
      const last = site.points.at(-1) ?? [0, 0, 0, 0, 0, 0];
      return { number, site, name: this.nameOf(site), frames: framesBelow(app.profiles, lines, site.stack),
        most: site.points.reduce((most, point) => Math.max(most, point[2]), 0), last };
    });
    const { type } = app.state;
    return rows.filter(({ site, name, frames }) => (type === ALL || site.type === type)
      && (app.finds(name) || frames.some((frame) => app.finds(frame))));
  }

  columns() {
    const { state } = this.app;
    const number = (key, head, title, of, unit) =>
      ({ key, head, title, number: true, of, cell: (row) => valueCell(of(row), unit) });
    return [
      number('most', 'Most', 'The most bytes that a look found alive', (row) => row.most, 'bytes'),
      number('last', 'Last', 'The most bytes that a look in the last step found alive', (row) => row.last[2], 'bytes'),
      number('objects', 'Objects', 'The fewest objects that a look in the last step found alive', (row) => row.last[3], 'count'),
      number('made', 'Made', 'Objects allocated by the last look', (row) => row.last[5], 'count'),
      { key: 'grows', head: 'Grows', title: 'As hprof growth tells it', of: (row) => Number(Boolean(row.site.suspected)),
        cell: (row) => (row.site.suspected
          ? element('span', { className: 'badge grows', title: row.site.suspected }, 'piles up') : '') },
      { key: 'name', head: 'Class, made in', className: 'wide', of: (row) => row.name, cell: (row) => {
        const made = link(row.name, () => {
          state.set({ site: row.number }, true);
          // The chart is above the rows.
          window.scrollTo({ top: 0 });
        });
        if (row.number === state.site) made.setAttribute('aria-current', 'true');
        made.title = row.frames.slice(0, 12).map((frame) => shown(frame, 200)).join('\n');
        return made;
      } },
    ];
  }

  close() {}
}
