// The page: what is chosen, and the view that shows it.

const KEYS = [
  ['/', 'search; a regular expression, case counts where it has capitals'],
  ['← → ↑ ↓', 'move from box to box'],
  ['Enter or +', 'zoom in'],
  ['Escape, Backspace or -', 'zoom out'],
  ['0', 'zoom out to everything'],
  ['c', 'copy the stack of the chosen box, innermost frame first'],
  ['s', 'callers and callees of the chosen box'],
  ['1 to 9', 'the views'],
  ['v', 'the next value'],
  ['i', 'icicle or flame'],
  ['r', 'from callers to callees, or from callees to callers'],
  ['t', 'light or dark'],
  ['?', 'these keys'],
];

// Views that show all values of theirs at once.
const ALL_VALUES = ['allocations', 'time', 'memory', 'monitors', 'waiting', 'heap', 'runs'];

class App {
  constructor(profiles) {
    this.profiles = profiles;
    this.cache = new Map();
    const { start, runs } = profiles;
    const run = runs.length - 1;
    this.state = new State({ run, base: start.compared ? 0 : -1, callers: start.inverted, value: start.metric ?? '' },
      () => this.show());
    this.tabs = this.views();
    this.heat = new Heat(this, document.getElementById('heat'));
    this.listen();
    this.show();
  }

  views() {
    const { runs, start } = this.profiles;
    const has = (metric) => runs.some((run) => run.metrics.includes(metric));
    const threads = runs.some((run) => run.tables.some((table) => table.thread.some(Boolean)));
    if (start.flame_only) return [['flame', 'Flame graph', FlameView]];
    return [
      ['flame', 'Flame graph', FlameView],
      ['top', 'Top', TopView],
      ['around', 'Callers & callees', AroundView],
      has('alloc-bytes') && ['allocations', 'Allocation sites', SitesView],
      has('native-bytes') && ['native', 'Native sites', SitesView],
      runs.some((run) => run.history?.course) && ['time', 'Time', TimeView],
      runs.some((run) => run.history?.memory) && ['memory', 'Memory', MemoryView],
      has('contention') && ['monitors', 'Monitors', SitesView],
      has('lock-wait') && ['waiting', 'Waiting', WaitingView],
      threads && ['threads', 'Threads', ThreadsView],
      HEAPS.content.firstChild && ['heap', 'Heap', HeapView],
      runs.length > 1 && ['difference', 'Difference', DifferenceView],
      ['runs', runs.length > 1 ? 'Runs' : 'Run', RunsView],
    ].filter(Boolean);
  }

  get run() {
    return this.profiles.runs[this.state.run];
  }

  get value() {
    return this.state.value;
  }

  get unit() {
    return UNITS[this.value];
  }

  // The values of the run, and in a comparison those of both.
  values() {
    const base = this.profiles.runs[this.state.base];
    const common = this.run.metrics.filter((metric) => !base || base.metrics.includes(metric));
    const values = common.length ? common : this.run.metrics;
    // Of a part of the time, those whose times are known.
    return isPart(this.state) ? values.filter((metric) => this.run.timelines.some(({ value }) => value === metric)) : values;
  }

  // The file without its folder, unless that tells it from others.
  runName(number) {
    const { runs } = this.profiles;
    const run = runs[number];
    const base = (file) => file.slice(file.lastIndexOf('/') + 1);
    const alone = runs.every((other) => other.file === run.file || base(other.file) !== base(run.file));
    const file = alone ? base(run.file) : run.file;
    return run.sections > 1 ? `${file} (dump ${run.section} of ${run.sections})` : file;
  }

  measureKey(value = this.value) {
    const { run, base, thread, type, scaled, from, to } = this.state;
    return [run, base, value, thread, type, scaled, from, to].join(' ');
  }

  measured(value = this.value) {
    const key = this.measureKey(value);
    return this.kept(`measure ${key}`, () => measure(this.profiles, { ...this.state, value }));
  }

  tree(callers, by) {
    const Kind = callers ? Callers : Callees;
    const make = () => new Kind(this.profiles, this.measured(), groupsOf(this.profiles, by));
    return this.kept(`tree ${callers} ${by} ${this.measureKey()}`, make);
  }

  // What was made for a choice, with the last few others.
  kept(key, make) {
    const known = this.cache.get(key) ?? make();
    this.cache.delete(key);
    this.cache.set(key, known);
    if (this.cache.size > 12) this.cache.delete(this.cache.keys().next().value);
    return known;
  }

  // What is to be said about what is shown: of both runs in a comparison.
  remarks() {
    const { state, profiles } = this;
    if (['heap', 'runs'].includes(state.view)) return [];
    const value = SITES[state.view]?.metrics[0] ?? state.value;
    const of = (run) => run?.remarks[value] ?? [];
    const before = of(profiles.runs[state.base]).map((remark) => `before: ${remark}`);
    const whole = isPart(state) && !ALL_VALUES.includes(state.view) ? 'of the whole run: ' : '';
    return [...of(this.run).map((remark) => whole + remark), ...before];
  }

  // What the runs were that are shown: the program, the JDK, when, how long, with which options.
  about() {
    const { state, profiles } = this;
    if (['heap', 'runs'].includes(state.view)) return [];
    const before = profiles.runs[state.base]?.about;
    return [this.run.about, before && `before: ${before}`].filter(Boolean);
  }

  finds(text) {
    return !this.pattern || this.pattern.test(text);
  }

  // Which groups are searched for; null where nothing is.
  matches(groups) {
    return this.pattern && groups.names.map((text) => this.pattern.test(text));
  }

  nothing() {
    return this.pattern ? 'Nothing matches the search.' : 'Nothing to show.';
  }

  sumText() {
    const { now, base } = this.measured();
    const text = `${this.value}: ${amount(now.sum, this.unit)}`;
    return element('span', { className: 'hint' }, base ? `${text}, before ${amount(base.sum, this.unit)}` : text);
  }

  openMethod(tree, box) {
    if (box.group < 0 || this.profiles.start.flame_only) return;
    const name = tree.name(box);
    const { names } = groupsOf(this.profiles, 'method');
    const method = tree.groups === groupsOf(this.profiles, 'method') ? box.group
      : names.findIndex((known) => name.startsWith(`${known}(`));
    if (method >= 0) this.state.set({ view: 'around', method }, true);
  }

  // A button that is made anew between press and release gets no click, so what is to be shown waits for the release.
  show() {
    this.isDue = this.isPressed;
    if (this.isDue) return;
    const focus = document.activeElement?.dataset?.focus;
    this.repair();
    this.readSearch();
    this.showBar();
    this.showTabs();
    this.showFilters();
    this.heat.update();
    const { view } = this.state;
    const [, title, View] = this.tabs.find(([key]) => key === view);
    const host = document.getElementById('view');
    if (view !== this.shownView) {
      this.view?.close();
      host.replaceChildren();
      host.className = view;
      this.view = new View(this, host, view);
      this.shownView = view;
    }
    this.view.update();
    if (focus) focusOn(focus);
    document.title = `${title} · ${shown(this.runName(this.state.run), 100)} · HPROF`;
  }

  // What a link asks for may not be there.
  repair() {
    const { state, profiles } = this;
    const { runs, strings } = profiles;
    if (!runs[state.run]) state.run = runs.length - 1;
    if (!runs[state.base] || state.base === state.run) state.base = -1;
    if (!this.tabs.some(([key]) => key === state.view)) state.view = 'flame';
    if (state.view === 'difference' && state.base < 0) state.base = state.run > 0 ? state.run - 1 : 1;
    if (!this.run.timelines.length) [state.from, state.to] = [0, 0];
    if (!this.values().includes(state.value)) [state.value] = this.values();
    if (!BYS.some(([by]) => by === state.by)) state.by = 'method';
    if (!CURVES.some(([curve]) => curve === state.curve)) state.curve = CURVES[0][0];
    if (!this.run.history?.course?.sites[state.site]) state.site = -1;
    for (const key of ['thread', 'type']) if (!(state[key] >= ALL && state[key] <= strings.length)) state[key] = ALL;
  }

  readSearch() {
    const { find } = this.state;
    this.pattern = null;
    this.fault = '';
    if (!find) return;
    try {
      this.pattern = new RegExp(find, /\p{Lu}/u.test(find) ? '' : 'i');
    } catch (fault) {
      this.fault = fault.message;
    }
  }

  showBar() {
    const { state, profiles } = this;
    const runs = profiles.runs.map((_, number) => [number, this.runName(number)]);
    const parts = [element('strong', {}, 'HPROF')];
    parts.push(runs.length === 1 ? element('span', { className: 'file' }, nameText(runs[0][1], 80))
      : choice('Run', runs, state.run, (run) => state.set({ run: Number(run), zoom: [] })));
    if (runs.length > 1) {
      const others = runs.filter(([number]) => number !== state.run);
      parts.push(choice('Compare with', [[-1, 'nothing'], ...others], state.base,
        (base) => state.set({ base: Number(base), sort: '', view: base < 0 && state.view === 'difference' ? 'top' : state.view })));
    }
    if (state.base >= 0) {
      parts.push(toggle('Normalise', state.scaled, (scaled) => state.set({ scaled }),
        { title: 'Scale the run before to the total of this one: for runs of different length' }));
    }
    if (!ALL_VALUES.includes(state.view)) {
      parts.push(choice('Value', this.values().map((value) => [value, value]), state.value,
        (value) => state.set({ value, sort: '' })));
    }
    if (!this.search) this.makeSearch();
    // What has been typed and is not searched for yet stays there.
    if (document.activeElement !== this.search && !this.typing) this.search.value = state.find;
    this.search.setCustomValidity(this.fault);
    this.search.title = this.fault || 'Regular expression; press / to come here';
    const place = document.getElementById('bar');
    place.querySelectorAll(':scope > .choices').forEach((old) => old.remove());
    place.prepend(element('div', { className: 'choices' }, ...parts));
  }

  makeSearch() {
    this.search = element('input', { type: 'search', id: 'search', placeholder: 'Search (regular expression)',
      autocomplete: 'off', spellcheck: false, 'aria-label': 'Search with a regular expression' });
    this.search.addEventListener('input', () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => {
        this.typing = 0;
        this.state.set({ find: this.search.value });
      }, 150);
    });
    document.getElementById('bar').append(element('div', { className: 'side' }, this.search,
      button('◐', () => this.turnTheme(), { id: 'theme', title: 'Light or dark (t)', ariaLabel: 'Light or dark' }),
      button('?', () => this.help(), { id: 'keys', title: 'Keys (?)', ariaLabel: 'Keys' })));
  }

  showTabs() {
    const { state } = this;
    const nav = document.getElementById('tabs');
    nav.hidden = this.tabs.length === 1;
    nav.replaceChildren(...this.tabs.map(([view, title]) => {
      const tab = button(title, () => state.set({ view, sort: '' }, true));
      tab.dataset.focus = `view ${view}`;
      if (view === state.view) tab.setAttribute('aria-current', 'page');
      return tab;
    }));
  }

  showFilters() {
    const { state, profiles } = this;
    const filters = document.getElementById('filters');
    const parts = [];
    const filter = (key, text) => parts.push(element('span', { className: 'filter' }, shown(text, 120),
      button('×', () => state.set({ [key]: ALL, zoom: [] }), { title: 'Show all again', ariaLabel: 'Show all again' })));
    if (state.thread !== ALL) filter('thread', `thread ${threadName(profiles, state.thread)}`);
    if (state.type !== ALL) filter('type', `class ${state.type ? profiles.strings[state.type - 1] : '<unknown>'}`);
    if (isPart(state) && !ALL_VALUES.includes(state.view)) {
      parts.push(element('span', { className: 'filter' }, this.heat.partText(),
        button('×', () => state.set({ from: 0, to: 0, zoom: [] }), { title: 'Show all of the time again', ariaLabel: 'Show all of the time again' })));
    }
    if (this.run.fault) {
      parts.push(element('span', { className: 'warning' }, `The file could not be read to its end: ${shown(this.run.fault, 300)}`));
    }
    for (const run of this.about()) parts.push(element('span', { className: 'run' }, shown(run, 1000)));
    for (const remark of this.remarks()) parts.push(element('span', { className: 'remark' }, shown(remark, 1000)));
    filters.hidden = !parts.length;
    filters.replaceChildren(...parts);
  }

  turnTheme() {
    const root = document.documentElement;
    const dark = getComputedStyle(root).getPropertyValue('--dark').trim() === '1';
    root.dataset.theme = dark ? 'light' : 'dark';
    remember('hprof-theme', root.dataset.theme);
    Look.forget();
    this.show();
  }

  help() {
    const dialog = document.getElementById('help');
    const rows = KEYS.flatMap(([key, text]) => [element('dt', {}, key), element('dd', {}, text)]);
    dialog.replaceChildren(element('h2', {}, 'Keys'), element('dl', {}, ...rows),
      button('Close', () => dialog.close(), { autofocus: true }));
    dialog.showModal();
  }

  listen() {
    document.addEventListener('keydown', (event) => this.key(event));
    this.isPressed = false;
    window.addEventListener('pointerdown', (event) => {
      this.isPressed = Boolean(event.target.closest?.('button, canvas'));
    }, true);
    const released = () => {
      this.isPressed = false;
      // The click comes first.
      setTimeout(() => this.isDue && this.show());
    };
    window.addEventListener('pointerup', released, true);
    window.addEventListener('pointercancel', released, true);
    window.addEventListener('blur', released);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', () => {
      Look.forget();
      this.show();
    });
    NARROW.addEventListener('change', () => this.show());
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target === this.search) {
      if (event.key === 'Escape') {
        this.search.value = '';
        this.state.set({ find: '' });
        document.querySelector('#view canvas')?.focus();
      }
      return;
    }
    if (event.target.closest?.('input, select, textarea, dialog')) return;
    const { state } = this;
    const actions = {
      '/': () => this.search.focus(),
      '?': () => this.help(),
      t: () => this.turnTheme(),
      v: () => {
        const values = this.values();
        state.set({ value: values[(values.indexOf(state.value) + 1) % values.length], sort: '' });
      },
      i: () => state.set({ icicle: !state.icicle }),
      r: () => state.set({ callers: !state.callers, zoom: [] }, true),
      Escape: () => state.zoom.length && state.set({ zoom: state.zoom.slice(0, -1) }, true),
      0: () => state.set({ zoom: [] }, true),
    };
    const tab = this.tabs[Number(event.key) - 1];
    const action = actions[event.key] ?? (tab && (() => state.set({ view: tab[0], sort: '' }, true)));
    if (!action) return;
    event.preventDefault();
    action();
  }
}

// What is made anew keeps the focus that the old one had.
function focusOn(key) {
  const all = [...document.querySelectorAll('[data-focus]')];
  all.find((one) => one.dataset.focus === key)?.focus({ preventScroll: true });
}

// Pages opened from files may have no memory.
function remember(key, value) {
  try {
    if (value === undefined) return localStorage.getItem(key);
    localStorage.setItem(key, value);
  } catch {
    // The page works without.
  }
  return null;
}

async function start() {
  const theme = remember('hprof-theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
  try {
    new App(await readProfiles());
    document.body.dataset.ready = 'true';
  } catch (fault) {
    document.getElementById('view').textContent = `The page could not be shown: ${fault.message}. `
      + 'It needs a browser of 2023 or later.';
    throw fault;
  }
}

start();
