// A table that is sorted by a click on a head and shows more of its rows when asked.

const AT_ONCE = 200;
const NARROW = matchMedia('(max-width: 760px)');
const isWide = (column) => Number(column.className === 'wide');

// `columns`: key, head, title, `of(row)` the number or text to sort by, `cell(row)` what is shown, `number` whether it
// stands to the right. `sort` is a column's key, with `-` before it where the smallest comes first.
class Table {
  constructor(host, { label, sorted }) {
    this.sorted = sorted;
    this.head = element('thead');
    this.body = element('tbody');
    this.table = element('table', { 'aria-label': label }, this.head, this.body);
    this.more = element('div', { className: 'more' });
    this.wrap = element('div', { className: 'table' }, this.table);
    host.append(this.wrap, this.more);
  }

  show(columns, rows, sort, nothing = 'Nothing to show.') {
    // Where there is little room, names come first and stay.
    this.columns = NARROW.matches ? [...columns].sort((a, b) => isWide(b) - isWide(a)) : columns;
    const key = sort.replace(/^-/, '');
    const column = columns.find((column) => column.key === key) ?? columns[0];
    this.sort = { column, up: sort.startsWith('-') };
    this.rows = sortedBy(rows, column, this.sort.up);
    this.head.replaceChildren(element('tr', {}, ...this.columns.map((column) => this.headOf(column))));
    this.body.replaceChildren();
    this.count = 0;
    this.nothing = nothing;
    this.add();
  }

  headOf(column) {
    const { column: chosen, up } = this.sort;
    const state = column !== chosen ? 'none' : up ? 'ascending' : 'descending';
    const mark = column !== chosen ? '' : up ? ' ▴' : ' ▾';
    const content = column.of
      ? button(column.head + mark, () => this.sorted((column === chosen && !up ? '-' : '') + column.key),
        { title: column.title ?? column.head })
      : element('span', { title: column.title ?? '' }, column.head);
    content.dataset.focus = `head ${column.key}`;
    return element('th', { className: column.number ? 'number' : column.className ?? '', 'aria-sort': state,
      scope: 'col' }, content);
  }

  add() {
    const next = this.rows.slice(this.count, this.count + AT_ONCE);
    this.count += next.length;
    for (const row of next) {
      const cells = this.columns.map((column) =>
        element('td', { className: column.number ? 'number' : column.className ?? '' }, column.cell(row)));
      this.body.append(element('tr', {}, ...cells));
    }
    const rest = this.rows.length - this.count;
    this.more.replaceChildren();
    if (!this.rows.length) this.more.append(this.nothing);
    if (rest > 0) {
      this.more.append(`${COUNT.format(this.count)} of ${COUNT.format(this.rows.length)} rows `,
        button(`Show ${COUNT.format(Math.min(rest, AT_ONCE))} more`, () => this.add()));
    }
  }
}

function sortedBy(rows, column, up) {
  const keyed = rows.map((row) => [column.of(row), row]);
  const compare = typeof keyed[0]?.[0] === 'string'
    ? ([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)
    : ([a], [b]) => b - a;
  keyed.sort(compare);
  if (up) keyed.reverse();
  return keyed.map(([, row]) => row);
}

// A share as a bar; `inner` is a part of it that is marked.
function bar(part, whole, inner = 0) {
  const width = (value) => `${whole > 0 ? Math.min(Math.max((value / whole) * 100, 0), 100) : 0}%`;
  const fill = element('span', { className: 'fill' });
  fill.style.width = width(part);
  const made = element('span', { className: 'bar', ariaHidden: 'true' }, fill);
  if (inner > 0) {
    const marked = element('span', { className: 'inner' });
    marked.style.width = width(inner);
    made.append(marked);
  }
  return made;
}

// A change as a bar from the middle: to the right where it grew.
function changeBar(change, largest) {
  const fill = element('span', { className: change > 0 ? 'grew' : 'shrank' });
  fill.style.width = `${largest > 0 ? (Math.abs(change) / largest) * 50 : 0}%`;
  return element('span', { className: 'bar both', ariaHidden: 'true' }, fill);
}

function valueCell(value, unit) {
  return element('span', { title: exactly(value, unit) }, quantity(value, unit));
}
