"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const panel = byId("panel");
  const told = byId("told");
  const once = byId("once");
  const nothing = [...told.childNodes];
  let chosen = null;
  let first = null;

  const dark = () => {
    for (const box of all(".lit, .decides-here")) box.classList.remove("lit", "decides-here");
    for (const cell of all(".cell.chosen")) cell.classList.remove("chosen");
    for (const route of all(".route.chosen")) route.classList.remove("chosen");
  };

  const show = (route) => {
    dark();
    if (route === null) {
      told.replaceChildren(...nothing);
      return;
    }
    const later = once !== null && once.checked ? route.querySelector(".way.once") : null;
    const way = later ?? route.querySelector(".way.now");
    for (const step of all(".steps > li", way)) {
      for (const id of step.dataset.lights.split(" ")) {
        const box = byId(id);
        if (box === null) continue;
        box.classList.add("lit");
        if (step.classList.contains("decides")) box.classList.add("decides-here");
        for (let up = box.parentElement; up !== null; up = up.parentElement)
          if (up.tagName === "DETAILS" && up.classList.contains("vfs")) up.open = true;
      }
    }
    for (const cell of all(".cell"))
      if (cell.hash === `#${route.id}`) cell.classList.add("chosen");
    const title = document.createElement("p");
    const name = document.createElement("strong");
    name.textContent = `${route.dataset.from} to ${route.dataset.to}. `;
    title.append(name, ...[...way.querySelector(".told").childNodes].map((n) => n.cloneNode(true)));
    const said = [title, way.querySelector(".steps").cloneNode(true)];
    for (const cure of all(".cure", route)) said.push(cure.cloneNode(true));
    told.replaceChildren(...said);
  };

  const choose = (route) => {
    chosen = route;
    show(route);
  };
  const letGo = () => {
    first = null;
    for (const peer of all(".peer")) peer.setAttribute("aria-pressed", "false");
    choose(null);
  };

  panel.hidden = false;
  if (once !== null) once.addEventListener("change", () => show(chosen));

  for (const matrix of all(".matrix")) {
    const cells = all(".cell", matrix);
    cells.forEach((cell, index) => { cell.tabIndex = index ? -1 : 0; });
    const grid = all("tbody tr", matrix).map((row) => [...row.cells].slice(1).map((td) => td.querySelector(".cell")));
    for (const cell of cells) {
      const route = byId(decodeURIComponent(cell.hash.slice(1)));
      cell.addEventListener("mouseenter", () => show(route));
      cell.addEventListener("mouseleave", () => show(chosen));
      cell.addEventListener("focus", () => show(route));
      cell.addEventListener("blur", () => show(chosen));
      cell.addEventListener("click", (event) => { event.preventDefault(); choose(route); });
      cell.addEventListener("keydown", (event) => {
        const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
        if (event.key === " ") { event.preventDefault(); choose(route); }
        if (move === undefined) return;
        event.preventDefault();
        let row = grid.findIndex((line) => line.includes(cell));
        let column = grid[row].indexOf(cell);
        for (;;) {
          row += move[0];
          column += move[1];
          if (grid[row] === undefined || grid[row][column] === undefined) return;
          const next = grid[row][column];
          if (next === null) continue;
          cell.tabIndex = -1;
          next.tabIndex = 0;
          next.focus();
          return;
        }
      });
    }
  }

  for (const peer of all(".peer"))
    peer.addEventListener("click", () => {
      if (first === peer) { letGo(); return; }
      if (first === null) {
        first = peer;
        peer.setAttribute("aria-pressed", "true");
        return;
      }
      const route = byId(`route-${first.dataset.peer}-${peer.dataset.peer}`);
      const pair = `${first.dataset.peer} and ${peer.dataset.peer}`;
      first.setAttribute("aria-pressed", "false");
      first = null;
      choose(route);
      if (route === null) told.textContent = `No route is told between ${pair}: one of two must be a GPU.`;
    });

  document.addEventListener("keydown", (event) => { if (event.key === "Escape") letGo(); });

  const openTarget = () => {
    const target = location.hash ? byId(decodeURIComponent(location.hash.slice(1))) : null;
    const folded = target === null ? null : target.closest("details");
    if (folded !== null) { folded.open = true; target.scrollIntoView(); }
  };
  addEventListener("hashchange", openTarget);
  openTarget();

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = all("details:not([open])");
    for (const each of opened) each.open = true;
  });
  addEventListener("afterprint", () => { for (const each of opened) each.open = false; });
})();
