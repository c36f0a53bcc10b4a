
for (const table of document.querySelectorAll('table.sortable')) {
  const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
  const key = (row, column) => row.cells[column].dataset.value ?? row.cells[column].textContent.toLowerCase();
  const number = column => rows.every(row => 'value' in row.cells[column].dataset);
  const order = (column, down) => {
    const sign = down ? -1 : 1, numeric = number(column);
    const sorted = rows.map((row, place) => [key(row, column), place, row]).sort(([a, i], [b, j]) =>
      (numeric ? sign * (a - b) : sign * (a < b ? -1 : a > b ? 1 : 0)) || i - j);
    body.append(...sorted.map(([, , row]) => row));
    heads.forEach((head, i) => i === column ? head.setAttribute('aria-sort', down ? 'descending' : 'ascending')
      : head.removeAttribute('aria-sort'));
  };
  heads.forEach((head, column) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener('click', () => {
      const now = head.getAttribute('aria-sort');
      order(column, now ? now === 'ascending' : number(column));
    });
  });
  const filter = table.closest('.card').querySelector('.filter'), output = filter.querySelector('output');
  filter.hidden = false;
  filter.querySelector('input').addEventListener('input', event => {
    const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every(word => text.includes(word));
      shown += !row.hidden;
    }
    output.textContent = words.length ? `${shown} of ${rows.length} ${output.dataset.noun}` : '';
  });
}
const open = () => {
  const there = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (there && there.tagName === 'DETAILS') there.open = true;
};
addEventListener('hashchange', open);
open();
