// What is shown, kept in the address so that a link and the Back button bring it back.

const BEGINNING = {
  view: 'flame', run: 0, base: -1, value: '', thread: ALL, type: ALL, find: '', by: 'method', sort: '',
  callers: false, icicle: false, lines: false, scaled: false, zoom: [], method: -1, group: 'site', only: 'all',
  site: -1, curve: 'bytes', from: 0, to: 0,
};

class State {
  constructor(start, changed) {
    this.start = { ...BEGINNING, ...start };
    this.changed = changed;
    this.read();
    window.addEventListener('popstate', () => this.reread());
    window.addEventListener('hashchange', () => this.reread());
  }

  read() {
    Object.assign(this, this.start);
    this.written = location.hash;
    for (const [key, text] of new URLSearchParams(location.hash.slice(1))) {
      if (Object.hasOwn(BEGINNING, key)) this[key] = valueLike(BEGINNING[key], text);
    }
  }

  reread() {
    if (location.hash === this.written) return;
    this.read();
    this.changed();
  }

  // `step`: the Back button leads back to what was shown before.
  set(changes, step = false) {
    Object.assign(this, changes);
    const parameters = new URLSearchParams();
    for (const key of Object.keys(BEGINNING)) {
      const text = String(this[key]);
      if (text !== String(this.start[key])) parameters.set(key, text);
    }
    this.written = parameters.size ? `#${parameters}` : '';
    const address = this.written || location.pathname + location.search;
    if (step) history.pushState(null, '', address);
    else history.replaceState(null, '', address);
    this.changed();
  }
}

function valueLike(example, text) {
  if (typeof example === 'number') return Number.parseInt(text, 10) || 0;
  if (typeof example === 'boolean') return text === 'true';
  if (Array.isArray(example)) return text === '' ? [] : text.split(',').map(Number);
  return text;
}
