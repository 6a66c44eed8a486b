// When samples were taken: a map of time by method, in which a part of the run can be chosen.

// The most columns, and the rows below that of all methods.
const HEAT = { columns: 300, rows: 8, row: 15, label: 190, axis: 18, all: 1 };

// The first step whose middle is not before a time in milliseconds.
function stepAt(timeline, millis) {
  return Math.ceil((millis - timeline.begin) / timeline.step - 0.5);
}

function isPart({ from, to }) {
  return to > from;
}

// The run with the values of a part of its time alone: those whose times are known. `from` and `to` are in milliseconds since its
// beginning.
function partOf(run, { from, to }) {
  if (!run?.timelines.length || !isPart({ from, to })) return run;
  const key = `${from} ${to}`;
  if (run.part?.key === key) return run.part;
  const tables = run.timelines.map((timeline) => {
    const [first, end] = [from, to].map((millis) => stepAt(timeline, run.begin + millis));
    const { stack, thread, type, starts, steps, amounts } = timeline;
    const values = new Float64Array(stack.length);
    for (let row = 0; row < values.length; row++) {
      for (let at = starts[row]; at < starts[row + 1]; at++) {
        if (steps[at] >= first && steps[at] < end) values[row] += amounts[at];
      }
    }
    return { metrics: [timeline.value], stack, thread, type, values: [values] };
  });
  run.part = { ...run, tables, key };
  return run.part;
}

// The group of the method to which the time of a stack is due. That of threads which wait is due to the innermost method that is not
// the JDK's: the innermost frame is their state.
function placeOf({ stacks }, methods, stack, value) {
  const innermost = methods.of[stacks.frame[stack]];
  if (value === 'cpu') return innermost;
  for (let at = stack; at > 0; at = stacks.caller[at]) {
    const group = methods.of[stacks.frame[at]];
    if (methods.owners[group] !== null && !OF_JDK.test(methods.owners[group])) return group;
  }
  return innermost;
}

function clock(millis) {
  return new Date(millis).toLocaleTimeString('en-GB');
}

class Heat {
  constructor(app, host) {
    this.app = app;
    this.host = host;
    this.canvas = element('canvas', { tabIndex: 0, role: 'application', 'aria-roledescription': 'heat map' });
    this.said = element('span', { className: 'hint' });
    if (app.profiles.runs.some((run) => run.timelines.length)) host.append(this.canvas, this.said);
    this.tip = document.getElementById('tip');
    this.listen();
    new ResizeObserver(() => this.draw()).observe(host);
  }

  get timeline() {
    const { run, value } = this.app;
    return run.timelines.find((timeline) => timeline.value === value);
  }

  update() {
    const { app, timeline } = this;
    this.host.hidden = !timeline || ALL_VALUES.includes(app.state.view);
    if (this.host.hidden) return;
    const { run, thread, type } = app.state;
    this.map = app.kept(`heat ${[run, app.value, thread, type].join(' ')}`, () => this.sums(timeline));
    this.canvas.setAttribute('aria-label', `When ${app.value} was measured. Drag to choose a part of the time; arrow keys move it, `
      + 'with Shift they move its end, Escape shows all.');
    this.said.textContent = isPart(app.state) ? `${this.partText()}; Escape, or a double click, shows all`
      : `${app.value} by time and method: drag to choose a part, which everything below follows`;
    this.draw();
  }

  // The values of each column: in all, and of the methods with the highest peaks.
  sums(timeline) {
    const { profiles, state } = this.app;
    const methods = groupsOf(profiles, 'method');
    const count = Math.max(Math.ceil(timeline.millis / timeline.step), 1);
    const each = Math.ceil(count / HEAT.columns);
    const columns = Math.ceil(count / each);
    const all = new Float64Array(columns);
    const of = new Map();
    const { stack, thread, type, starts, steps, amounts } = timeline;
    for (let row = 0; row < stack.length; row++) {
      if (state.thread !== ALL && thread[row] !== state.thread) continue;
      if (state.type !== ALL && type[row] !== state.type) continue;
      const group = placeOf(profiles, methods, stack[row], timeline.value);
      let values = of.get(group);
      if (!values) of.set(group, (values = new Float64Array(columns)));
      for (let at = starts[row]; at < starts[row + 1]; at++) {
        const column = Math.min(Math.floor(steps[at] / each), columns - 1);
        values[column] += amounts[at];
        all[column] += amounts[at];
      }
    }
    const most = (values) => values.reduce((largest, value) => Math.max(largest, value), 0);
    const rows = [...of].map(([group, values]) => ({ name: methods.names[group], values, peak: most(values) }));
    rows.sort((one, other) => other.peak - one.peak);
    return { each, columns, all, peak: most(all), rows: rows.slice(0, HEAT.rows) };
  }

  // The chosen columns: the first, and the one after the last.
  chosen() {
    const { app, timeline, map } = this;
    if (this.brush) return this.brush;
    if (!isPart(app.state)) return null;
    const { from, to } = app.state;
    const [first, end] = [from, to].map((millis) => stepAt(timeline, app.run.begin + millis) / map.each);
    return [Math.max(first, 0), Math.min(end, map.columns)];
  }

  draw() {
    if (this.host.hidden || !this.map) return;
    const { canvas, map, timeline } = this;
    const { all, columns, peak, rows } = map;
    const width = this.host.clientWidth - 24;
    const height = (rows.length + HEAT.all) * HEAT.row + HEAT.axis;
    if (width <= HEAT.label) return;
    const ratio = window.devicePixelRatio || 1;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const context = canvas.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = '11px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';
    context.textBaseline = 'middle';
    const style = getComputedStyle(document.documentElement);
    const colour = (key) => style.getPropertyValue(key).trim();
    this.perColumn = (width - HEAT.label) / columns;
    const x = (column) => HEAT.label + column * this.perColumn;
    const cells = (top, share) => {
      context.fillStyle = colour('--inner');
      for (let column = 0; column < columns; column++) {
        context.globalAlpha = Math.min(share(column), 1);
        if (context.globalAlpha > 0) context.fillRect(x(column), top, Math.max(this.perColumn, 1), HEAT.row - 1);
      }
      context.globalAlpha = 1;
    };
    const label = (text, top) => {
      const letters = Math.floor((HEAT.label - 10) / context.measureText('M').width);
      const short = text.length > letters ? withoutPackage(text) : text;
      context.fillStyle = colour('--ink');
      context.fillText(shown(short.length > letters ? `${short.slice(0, letters - 1)}…` : short), 0, top + HEAT.row / 2);
    };
    label('all', 0);
    cells(0, (column) => (peak ? all[column] / peak : 0));
    rows.forEach((row, number) => {
      const top = (number + HEAT.all) * HEAT.row;
      label(row.name, top);
      cells(top, (column) => (all[column] ? row.values[column] / all[column] : 0));
    });
    const bottom = height - HEAT.axis;
    context.fillStyle = colour('--soft');
    for (let part = 0; part <= 4; part++) {
      context.textAlign = part === 4 ? 'right' : part ? 'center' : 'left';
      const time = timeline.begin + (timeline.millis * part) / 4;
      context.fillText(clock(time), HEAT.label + ((width - HEAT.label) * part) / 4, bottom + HEAT.axis / 2);
    }
    context.textAlign = 'left';
    const chosen = this.chosen();
    if (!chosen) return;
    const [first, end] = chosen.map(x);
    context.fillStyle = colour('--ground');
    context.globalAlpha = 0.65;
    context.fillRect(HEAT.label, 0, first - HEAT.label, bottom);
    context.fillRect(end, 0, width - end, bottom);
    context.globalAlpha = 1;
    context.strokeStyle = colour('--focus');
    context.lineWidth = 2;
    context.strokeRect(first, 1, Math.max(end - first, 2), bottom - 2);
  }

  // The time since the run's beginning at which a column begins.
  millis(column) {
    const { timeline, map, app } = this;
    const end = Math.min(column * map.each * timeline.step, timeline.millis);
    return Math.max(Math.round(timeline.begin - app.run.begin + end), 0);
  }

  choose(columns) {
    const [from, to] = columns ? columns.map((column) => this.millis(column)) : [0, 0];
    this.app.state.set({ from, to, zoom: [] }, true);
  }

  partText() {
    const { run, state } = this.app;
    const { from, to } = state;
    return `${clock(run.begin + from)} to ${clock(run.begin + to)}, ${seconds(to - from)}`;
  }

  column(event) {
    const place = event.clientX - this.canvas.getBoundingClientRect().left - HEAT.label;
    return Math.min(Math.max(Math.floor(place / this.perColumn), 0), this.map.columns - 1);
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener('pointerdown', (event) => {
      if (event.button !== 0 || !this.map) return;
      canvas.setPointerCapture(event.pointerId);
      this.began = this.column(event);
      this.brush = [this.began, this.began + 1];
      this.draw();
    });
    canvas.addEventListener('pointermove', (event) => {
      if (!this.map) return;
      this.describe(event);
      if (!this.brush) return;
      const now = this.column(event);
      this.brush = [Math.min(this.began, now), Math.max(this.began, now) + 1];
      this.draw();
    });
    canvas.addEventListener('pointerup', () => {
      const { brush } = this;
      this.brush = null;
      if (brush) this.choose(brush);
    });
    canvas.addEventListener('pointercancel', () => {
      this.brush = null;
      this.draw();
    });
    canvas.addEventListener('pointerleave', () => {
      this.tip.hidden = true;
    });
    canvas.addEventListener('dblclick', () => this.choose(null));
    canvas.addEventListener('keydown', (event) => this.key(event));
  }

  describe(event) {
    const { app, map, canvas, tip } = this;
    const column = this.column(event);
    const number = Math.floor((event.clientY - canvas.getBoundingClientRect().top) / HEAT.row) - HEAT.all;
    const row = map.rows[number];
    const [from, to] = [column, column + 1].map((place) => app.run.begin + this.millis(place));
    const value = row ? row.values[column] : map.all[column];
    tip.replaceChildren(
      element('div', { className: 'title' }, shown(row?.name ?? 'all methods', 300)),
      element('div', {}, `${clock(from)} to ${clock(to)}: ${amount(value, app.unit)}`),
      row ? element('div', {}, `${percent(value, map.all[column])} of that time`) : '',
    );
    tip.hidden = false;
    tip.style.left = `${Math.max(Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8), 8)}px`;
    tip.style.top = `${event.clientY + 18}px`;
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.map) return;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step && event.key !== 'Escape') return;
    event.preventDefault();
    event.stopPropagation();
    if (!step) return void this.choose(null);
    const { columns } = this.map;
    const [first, end] = (this.chosen() ?? [0, 0]).map(Math.round);
    const move = (place, least, most) => Math.min(Math.max(place + step, least), most);
    if (event.shiftKey) return void this.choose([first, move(end, first + 1, columns)]);
    const length = Math.max(end - first, 1);
    const start = end > first ? move(first, 0, columns - length) : 0;
    return void this.choose([start, start + length]);
  }
}
