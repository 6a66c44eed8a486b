// A tree of stacks drawn on a canvas, row by row, as wide as its costs.

const ROW = 20;
// Narrower boxes are left out, in pixels.
const NARROWEST = 0.6;
const PADDING = 5;

class Flame {
  // `on.zoom(box)`, `on.select(box)`, `on.describe(box)`: what the user wants.
  constructor(host, { upward, label, on }) {
    this.on = on;
    this.upward = upward;
    this.canvas = element('canvas', { tabIndex: 0, role: 'application', 'aria-label': label,
      'aria-roledescription': 'flame graph' });
    this.spacer = element('div', { className: 'spacer' }, this.canvas);
    this.scroller = element('div', { className: 'graph' }, this.spacer);
    host.append(this.scroller);
    this.tip = document.getElementById('tip');
    this.listen();
    this.observer = new ResizeObserver(() => this.refresh());
    this.observer.observe(this.scroller);
  }

  listen() {
    this.scroller.addEventListener('scroll', () => this.draw());
    this.canvas.addEventListener('mousemove', (event) => this.hover(event));
    this.canvas.addEventListener('mouseleave', () => this.leave());
    this.canvas.addEventListener('click', (event) => {
      const box = this.at(event);
      if (!box) return;
      this.select(box);
      this.on.zoom(box);
    });
    this.canvas.addEventListener('dblclick', () => this.on.open?.(this.selected));
    this.canvas.addEventListener('keydown', (event) => this.key(event));
    this.canvas.addEventListener('focus', () => this.draw());
    this.canvas.addEventListener('blur', () => this.draw());
  }

  // `matches` tells for each group whether it was searched for; null where nothing is.
  show(tree, zoomed, matches, upward = this.upward) {
    const turned = upward !== this.upward || tree !== this.tree;
    this.upward = upward;
    this.tree = tree;
    this.zoomed = zoomed;
    this.matches = matches;
    if (turned) this.selected = zoomed;
    this.leave();
    this.refresh(turned);
  }

  refresh(turned = false) {
    if (!this.tree || this.scroller.clientWidth === 0) return;
    this.width = this.scroller.clientWidth;
    this.layOut();
    this.size();
    if (turned) this.belowSeen = 0;
    if (turned || this.upward) this.scroller.scrollTop = this.upward ? this.content - this.height - this.belowSeen : 0;
    this.draw();
  }

  layOut() {
    this.rows = [];
    for (let box = this.zoomed; box && box.depth >= this.tree.top.depth; box = box.parent) this.rows.unshift([{ box, x: 0, width: this.width }]);
    for (let row = this.rows.at(-1); row.length; row = this.rows.at(-1)) {
      const below = [];
      for (const { box, x, width } of row) this.layOutChildren(box, x, width, below);
      if (!below.length) break;
      this.rows.push(below);
    }
  }

  layOutChildren(box, x, width, below) {
    const perUnit = box.width > 0 ? width / box.width : 0;
    for (const child of this.tree.children(box, perUnit > 0 ? NARROWEST / perUnit : 0)) {
      const wide = child.width * perUnit;
      if (wide < NARROWEST) continue;
      below.push({ box: child, x, width: wide });
      x += wide;
    }
  }

  size() {
    const room = this.scroller.clientHeight;
    const needed = this.rows.length * ROW;
    this.height = Math.max(room, 1);
    this.content = Math.max(needed, room);
    this.spacer.style.height = `${this.content}px`;
    this.canvas.style.height = `${this.height}px`;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
  }

  // Where a row begins, from the top of what can be seen.
  top(row) {
    const place = this.upward ? this.content - (row + 1) * ROW : row * ROW;
    return place - this.scroller.scrollTop;
  }

  draw() {
    if (!this.rows) return;
    this.belowSeen = this.content - this.height - this.scroller.scrollTop;
    const ratio = window.devicePixelRatio || 1;
    const context = this.canvas.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.font = '12px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';
    context.textBaseline = 'middle';
    context.direction = 'ltr';
    this.letter = context.measureText('M').width;
    const look = Look.current();
    this.rows.forEach((row, number) => {
      const top = this.top(number);
      if (top > this.height || top + ROW < 0) return;
      for (const placed of row) this.drawBox(context, look, placed, top);
    });
  }

  drawBox(context, look, { box, x, width }, top) {
    const above = box.depth < this.zoomed.depth;
    const match = this.matches && box.group >= 0 && this.matches[box.group];
    const inner = Math.max(width - 1, 0.5);
    context.globalAlpha = above ? 0.55 : 1;
    const [fill, ink] = look.box(this.tree, box, this.matches ? (match ? 'match' : 'other') : 'plain');
    context.fillStyle = fill;
    context.fillRect(x, top, inner, ROW - 1);
    if (this.tree.measured.base) this.mark(context, look, box, x, top, inner);
    this.drawName(context, box, x, top, width, ink);
    context.globalAlpha = 1;
    if (box === this.selected && (document.activeElement === this.canvas || box !== this.zoomed)) {
      context.strokeStyle = look.focus;
      context.lineWidth = 2;
      context.strokeRect(x + 1, top + 1, Math.max(inner - 2, 1), ROW - 3);
    }
  }

  // What has appeared or vanished has a frame of its own beside its colour.
  mark(context, look, box, x, top, width) {
    if (width < 4 || (box.now > 0 && box.base > 0)) return;
    context.strokeStyle = look.ink;
    context.lineWidth = 1;
    context.setLineDash(box.now === 0 ? [3, 3] : []);
    context.strokeRect(x + 0.5, top + 0.5, width - 1, ROW - 2);
    context.setLineDash([]);
  }

  drawName(context, box, x, top, width, ink) {
    const left = Math.max(x, 0) + PADDING;
    const letters = Math.floor((width - 2 * PADDING) / this.letter);
    if (letters < 3) return;
    let text = this.title(box);
    if (text.length > letters) text = this.title(box, withoutPackage);
    if (text.length > letters) text = text.slice(0, letters - 1) + '…';
    context.fillStyle = ink;
    // Letters that are wider than others stay in their box too.
    context.save();
    context.beginPath();
    context.rect(x, top, width - 2, ROW);
    context.clip();
    context.fillText(text, left, top + ROW / 2);
    context.restore();
  }

  title(box, shorten = (text) => text) {
    const gone = this.tree.measured.base && box.now === 0 ? '− ' : '';
    const came = this.tree.measured.base && box.base === 0 ? '+ ' : '';
    return gone + came + shown(shorten(this.tree.name(box)), 300);
  }

  at(event) {
    const bounds = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - bounds.left, event.clientY - bounds.top];
    const place = y + this.scroller.scrollTop;
    const number = Math.floor((this.upward ? this.content - place : place) / ROW);
    const row = this.rows[number] ?? [];
    return row.find((placed) => x >= placed.x && x < placed.x + Math.max(placed.width, 1))?.box;
  }

  hover(event) {
    const box = this.at(event);
    this.canvas.classList.toggle('over', Boolean(box));
    if (!box) return this.leave();
    this.tip.replaceChildren(...this.on.describe(box));
    this.tip.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = this.tip;
    const left = Math.min(event.clientX + 14, window.innerWidth - width - 8);
    const below = event.clientY + 18;
    this.tip.style.left = `${Math.max(left, 8)}px`;
    this.tip.style.top = `${below + height > window.innerHeight ? event.clientY - height - 12 : below}px`;
  }

  leave() {
    this.tip.hidden = true;
  }

  select(box) {
    this.selected = box;
    this.on.select?.(box);
    this.scrollTo(box);
    this.draw();
  }

  scrollTo(box) {
    const top = this.top(box.depth - this.tree.top.depth);
    if (top < 0) this.scroller.scrollTop += top;
    if (top + ROW > this.height) this.scroller.scrollTop += top + ROW - this.height;
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const box = this.selected ?? this.zoomed;
    const outward = this.upward ? 'ArrowDown' : 'ArrowUp';
    const inward = this.upward ? 'ArrowUp' : 'ArrowDown';
    const steps = {
      [outward]: () => (box === this.tree.top ? null : box.parent),
      [inward]: () => this.drawn(box.depth + 1).find((below) => below.parent === box),
      ArrowLeft: () => this.beside(box, -1),
      ArrowRight: () => this.beside(box, 1),
      Home: () => this.tree.top,
    };
    if (steps[event.key]) {
      const next = steps[event.key]();
      if (next) this.select(next);
    } else if (event.key === 'Enter' || event.key === '+') {
      this.on.zoom(box);
    } else if (event.key === 'Escape' || event.key === 'Backspace' || event.key === '-') {
      this.on.zoom(this.zoomed === this.tree.top ? this.zoomed : this.zoomed.parent);
    } else if (event.key === '0') {
      this.on.zoom(this.tree.top);
    } else if (event.key === 'c') {
      copy(framesOf(this.tree, box).map((frame) => shown(frame, Infinity)).join('\n'));
    } else if (event.key === 's') {
      this.on.open?.(box);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  drawn(depth) {
    return (this.rows[depth - this.tree.top.depth] ?? []).map((placed) => placed.box);
  }

  beside(box, step) {
    const row = this.drawn(box.depth);
    return row[row.indexOf(box) + step];
  }

  close() {
    this.observer.disconnect();
    this.leave();
  }
}

// The colours of boxes: of the package, or of the change.
class Look {
  static current() {
    Look.made ??= new Look();
    return Look.made;
  }

  static forget() {
    Look.made = null;
  }

  constructor() {
    const style = getComputedStyle(document.documentElement);
    const colour = (key) => style.getPropertyValue(key).trim();
    this.dark = colour('--dark') === '1';
    this.ink = colour('--box-ink');
    this.focus = colour('--focus');
    this.plain = colour('--box-plain');
    this.match = [colour('--match'), colour('--match-ink')];
    this.hues = new Map();
  }

  box(tree, box, search) {
    if (search === 'match') return this.match;
    const fill = tree.measured.base ? this.change(box) : this.package(tree, box);
    return search === 'other' ? [this.faded(fill), this.ink] : [fill, this.ink];
  }

  faded(fill) {
    return fill.replace(/^hsl\((\S+) \S+ \S+\)$/, this.dark ? 'hsl($1 8% 24%)' : 'hsl($1 10% 90%)');
  }

  package(tree, box) {
    const owner = box.group < 0 ? null : tree.groups.owners[box.group];
    if (owner === null) return this.plain;
    let colour = this.hues.get(owner);
    if (!colour) this.hues.set(owner, (colour = this.colourOf(owner)));
    return colour;
  }

  // The classes of the JDK are grey-blue, those of one package have one hue in shades.
  colourOf(owner) {
    const shade = (hashOf(owner) % 5) * 1.6;
    if (OF_JDK.test(owner)) {
      return this.dark ? `hsl(215 18% ${30 + shade}%)` : `hsl(213 32% ${78 + shade}%)`;
    }
    const of = hashOf(owner.split('.').slice(0, -1).slice(0, 3).join('.'));
    const hue = (HUES[of % HUES.length] + (hashOf(owner) % 7) * 4 + 348) % 360;
    return this.dark ? `hsl(${hue} 34% ${32 + shade}%)` : `hsl(${hue} 62% ${74 + shade}%)`;
  }

  // From blue, vanished, by way of grey to orange, new.
  change({ now, base }) {
    const change = now + base === 0 ? 0 : (now - base) / (now + base);
    const much = Math.sqrt(Math.abs(change));
    const hue = change > 0 ? 22 : 214;
    const light = this.dark ? 27 + 12 * much : 90 - 22 * much;
    return `hsl(${hue} ${Math.round(4 + 70 * much)}% ${Math.round(light)}%)`;
  }
}

const OF_JDK = /^(java|javax|jdk|sun|com\.sun)\./;
const HUES = [340, 44, 160, 262, 184, 300, 8, 28];

function hashOf(text) {
  let hash = 7;
  for (let at = 0; at < Math.min(text.length, 200); at++) hash = (hash * 31 + text.charCodeAt(at)) >>> 0;
  return hash;
}
