// What heap dumps hold: made as markup by the program that wrote the page, with every text in it escaped.

const HEAPS = document.getElementById('heaps');

class HeapView {
  constructor(app, host) {
    host.append(element('div', {}, HEAPS.content.cloneNode(true)));
  }

  update() {}

  close() {}
}
