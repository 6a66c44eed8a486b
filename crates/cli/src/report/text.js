// Texts that the profiled program chose, and numbers, as people read them.

// What a viewer obeys instead of showing it: control and format characters (those that turn the direction of writing
// among them), line separators and halves of pairs.
const OBEYED = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const LONGEST = 400;

// A text in which every character can be seen, cut where it is very long.
function shown(text, longest = LONGEST) {
  const cut = text.length > longest ? text.slice(0, longest) + '…' : text;
  return cut.replace(OBEYED, (character) => `\\u{${character.codePointAt(0).toString(16)}}`);
}

const COUNT = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const THREE = new Intl.NumberFormat('en-US', { minimumSignificantDigits: 3, maximumSignificantDigits: 3 });
const SCALES = {
  bytes: [[1e12, 'TB'], [1e9, 'GB'], [1e6, 'MB'], [1e3, 'KB'], [1, 'B']],
  nanoseconds: [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']],
};

// The nanoseconds of CPU time that a sample stands for, where the unit is `samples`.
let sampled = 0;

// A value of a unit, rounded to three digits where it is not a count.
function quantity(value, unit) {
  if (unit === 'samples') return quantity(value * sampled, 'nanoseconds');
  if (unit === 'count' || value === 0) return COUNT.format(value);
  const size = Math.abs(value);
  const [factor, name] = SCALES[unit].find(([scale]) => size >= scale) ?? SCALES[unit].at(-1);
  const scaled = value / factor;
  const round = factor === 1 || Math.abs(scaled) >= 1000;
  return `${(round ? COUNT : THREE).format(scaled)} ${name}`;
}

// The same, exactly.
function exactly(value, unit) {
  const name = unit === 'count' ? '' : ` ${unit}`;
  return COUNT.format(value) + name;
}

// A value, and of samples both the time and the number.
function amount(value, unit) {
  return quantity(value, unit) + (unit === 'samples' ? ` in ${exactly(value, unit)}` : '');
}

function signed(value, unit) {
  return (value > 0 ? '+' : '') + quantity(value, unit).replace('-', '−');
}

function percent(part, whole) {
  return whole === 0 ? '–' : `${((part / whole) * 100).toFixed(part / whole < 0.0995 ? 2 : 1)}%`;
}

function relative(base, now) {
  if (base === 0) return now === 0 ? '0%' : 'new';
  const change = ((now - base) / base) * 100;
  return `${change > 0 ? '+' : change < 0 ? '−' : ''}${Math.abs(change).toFixed(1)}%`;
}

// Class.method without the package.
function withoutPackage(name) {
  const method = name.lastIndexOf('.');
  if (method <= 0) return name;
  const end = name.startsWith('.0x', name.lastIndexOf('.', method - 1)) ? name.lastIndexOf('.', method - 1) : method;
  return name.slice(name.lastIndexOf('.', end - 1) + 1);
}
