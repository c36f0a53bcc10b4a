
'use strict';
const passage = event => event.target instanceof Element ? event.target.closest('[data-nd]') : null;
const light = (event, on) => {
  const one = passage(event);
  if (!one) return;
  const all = one.closest('table').querySelectorAll(`[data-nd="${one.dataset.nd}"]`);
  for (const each of all) each.classList.toggle('nd-on', on);
};
for (const type of ['pointerover', 'focusin']) document.addEventListener(type, event => light(event, true));
for (const type of ['pointerout', 'focusout']) document.addEventListener(type, event => light(event, false));
document.addEventListener('click', event => {
  const one = passage(event);
  if (!one || event.target.closest('summary') || String(getSelection())) return;
  const link = one.querySelector('a.nd-sign'), there = document.getElementById(link.hash.slice(1));
  if (!there) return;
  event.preventDefault();
  const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
  there.scrollIntoView({block: 'center', behavior: still ? 'auto' : 'smooth'});
  there.querySelector('a.nd-sign').focus({preventScroll: true});
});
