"use strict";
// The page of one table. It shows the views that the server sends, and sends the chosen move. It
// contains no rules of games: each view lists the legal moves.

const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const SUITS = { s: "spades", h: "hearts", d: "diamonds", c: "clubs" };
const SUIT_SYMBOLS = { s: "♠", h: "♥", d: "♦", c: "♣" };
const RANKS = { A: "ace", K: "king", Q: "queen", J: "jack", T: "ten" };
const ACTION_TYPE_NAMES = { raise: "bet or raise", call: "check or call", fold: "fold" };
const MOVE_MILLISECONDS = 650; // milliseconds for which a move of an opponent is shown
const MAX_MILLISECONDS = 2600; // at most so many milliseconds for all moves up to the person's turn

let view = null; // the last view from the server
let shownHand = null; // the displayed hand: its players, and their winnings if it is over
let selectedCards = new Set(); // codes of the person's cards that are selected
let amount = null; // chips in the field for a bet or raise
let suggestedMoves = []; // moves with cards, in the order in which the key H selects them
let busy = false; // whether a request is running or moves are being shown
let endPause = () => {}; // ends the present pause between moves

// Create elements.

function make(tag, attributes = {}, ...children) {
  const made = tag.startsWith("svg:")
    ? document.createElementNS(SVG, tag.slice(4))
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false) continue;
    if (typeof value === "function") made.addEventListener(name, value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

function button(label, key, click, attributes = {}) {
  const shown = { " ": "Space", enter: "Enter" }[key] ?? key.toUpperCase();
  const hint = key ? { "data-key": key, "aria-keyshortcuts": shown } : {};
  const made = make("button", { type: "button", click, ...hint, ...attributes }, label);
  if (key) made.append(" ", make("kbd", { "aria-hidden": "true" }, shown));
  return made;
}

function nameCard(code) {
  const suit = SUITS[code.slice(-1)];
  const rank = code.slice(0, -1);
  return suit ? `${RANKS[rank] ?? rank} of ${suit}` : code;
}

/** Return the label of a move, with symbols for the suits of its cards. */
function formatLabel(label) {
  return label.replace(/\b[2-9TJQKA][shdc]\b/g, (code) => `${code[0].replace("T", "10")}${SUIT_SYMBOLS[code[1]]}\ufe0e`);
}

function card(code, tag = "span", attributes = {}) {
  const suit = SUITS[code.slice(-1)];
  const rank = suit ? code.slice(0, -1).replace("T", "10") : code;
  const role = tag === "span" ? { role: "img" } : { type: "button" };
  const face = { class: `card ${suit ?? "plain"}`, "aria-label": nameCard(code), ...role };
  const made = make(tag, { ...face, ...attributes }, make("b", {}, rank));
  const shape = () =>
    make("svg:svg", { "aria-hidden": "true" }, make("svg:use", { href: `#suit-${code.slice(-1)}` }));
  if (suit) made.append(shape(), shape());
  return made;
}

function backs(count) {
  const back = (name) => make("span", { class: "card back", role: "img", "aria-label": name });
  if (count <= 3) return Array.from({ length: count }, () => back("hidden card"));
  const heap = back(`${count} hidden cards`);
  heap.append(make("b", {}, String(count)));
  return [heap];
}

const number = (value, digits = 0) =>
  value.toLocaleString("en", { maximumFractionDigits: digits, minimumFractionDigits: digits });
const signed = (value) => `${value < 0 ? "−" : "+"}${number(Math.abs(value))}`;
const percent = (share) => `${number(100 * share, share && share < 0.1 ? 1 : 0)}\u00a0%`;
const title = (text) => text.charAt(0).toUpperCase() + text.slice(1);

// Requests to the server.

async function ask(path, body) {
  const post = { method: "POST", headers: { "Content-Type": "application/json" } };
  try {
    const response = await fetch(path, body && { ...post, body: JSON.stringify(body) });
    const kind = response.headers.get("content-type") ?? "";
    const answer = kind.startsWith("application/json") ? await response.json() : await response.text();
    return { ok: response.ok, status: response.status, answer };
  } catch {
    return { ok: false, status: 0, answer: { error: "The server does not answer. Is it still running?" } };
  }
}

/** Run an async function unless the page is busy; the page is busy until the function ends. */
async function runAlone(run) {
  if (busy) return;
  busy = true;
  document.body.classList.add("busy");
  try {
    await run();
  } finally {
    busy = false;
    document.body.classList.remove("busy");
  }
}

const send = (path, body = {}) =>
  runAlone(async () => {
    $("error").textContent = "";
    const { ok, answer } = await ask(path, { turn: view?.turn, ...body });
    if (!ok) $("error").textContent = answer.error;
    const next = ok ? answer : answer.view;
    if (next) await showView(next, ok);
  });

const act = (move) => send("act", { action: move.action });

// Show a new view.

const pause = (milliseconds) =>
  new Promise((done) => {
    endPause = done;
    setTimeout(done, milliseconds);
  });

/** Show a view and, if `isNext`, one after another the moves that led to it from the view before. */
async function showView(next, isNext = true) {
  const isNewSession = next.session.id !== view?.session.id;
  const fresh = isNewSession || next.hand !== view.hand;
  const inMoves = $("moves").contains(document.activeElement);
  view = next;
  shownHand = { players: view.players, ...view.result };
  selectedCards = new Set();
  suggestedMoves = [];
  amount = view.amounts?.low ?? null;
  $("hint").hidden = true;
  $("review").hidden = true;
  $("wait").hidden = true;
  $("ranges-button").hidden = !view.session.grid;
  $("game").textContent = view.session.game.replaceAll("_", " ");
  $("against").textContent = `against ${view.session.against}`;
  if (isNewSession || !isNext) $("log").replaceChildren(); // without isNext, the log may lack moves made in another tab
  if (fresh || !isNext) appendToLog(`${title(view.session.hand_noun)} ${view.hand}`, "new");
  for (const past of isNext ? [] : [...view.past, ...view.events]) appendToLog(describeEvent(past));
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const wait = still ? 0 : Math.min(MOVE_MILLISECONDS, MAX_MILLISECONDS / view.events.length);
  $("moves").replaceChildren();
  for (const event of isNext ? view.events : []) {
    drawTable(event.table, event);
    appendToLog(describeEvent(event));
    if (wait) await pause(wait);
  }
  drawView();
  if (inMoves) $("moves").focus();
  const moves = isNext ? view.events.map((event) => [nameSeat(event.seat), event.label].join(": ")) : [];
  $("live").textContent = [...moves, $("turn").textContent, $("words").textContent].join(". ");
}

function nameSeat(seat) {
  const player = view.players.find((one) => one.seat === seat);
  return player?.you ? "You" : (player?.name ?? `Seat ${seat}`);
}

const describeEvent = (event) => `${nameSeat(event.seat)}: ${formatLabel(event.label)}`;

function appendToLog(text, kind = "") {
  const log = $("log");
  log.append(make("li", { class: kind }, text));
  while (log.children.length > 80) log.firstChild.remove();
  log.scrollTop = log.scrollHeight;
}

/** Draw the present view: the table, the legal moves, the statistics, and after the hand its review. */
function drawView() {
  const over = view.phase === "over";
  drawTable(over ? { ...view.result.shown, hand_name: view.table.hand_name } : view.table, null);
  $("turn").textContent = describeState();
  drawMoves();
  drawStats(view.stats);
  if (over) showReview(view.hand);
}

// The table.

function drawTable(table, event) {
  const { players: ring } = shownHand;
  $("table").className = `table seats-${ring.length}${ring.length > 6 ? " many" : ""}`;
  $("street").textContent = table.street;
  $("board").replaceChildren(...table.board.map((code) => card(code)));
  const pot = (chips, i) =>
    make("span", { class: "pot" }, `${i ? "side pot" : "pot"} `, make("b", {}, number(chips)));
  $("pots").replaceChildren(...table.pots.map(pot));
  $("ring").replaceChildren(...ring.map((player, i) => createSeat(table, player, i, event)));
  drawOwn(table.seats[ring[0].seat]?.cards ?? []);
  $("words").textContent = title(table.hand_name);
  $("turn").textContent = "";
}

const describeState = () => (view.phase === "act" ? "Your turn" : shownHand.outcome);

/** Return a seat at the table: a box with name, cards and stack, and the chips of its bet before it. */
function createSeat(table, player, i, event) {
  const count = shownHand.players.length;
  const angle = Math.PI / 2 + (2 * Math.PI * i) / count;
  const stretch = (value) => Math.sign(value) * Math.abs(value) ** 0.7; // seats use the corners, unlike on a circle
  const state = table.seats[player.seat];
  const acting = event ? event.seat === player.seat : table.to_act === player.seat;
  const won = !event && shownHand.won ? shownHand.won[i] : null;
  const out = player.seat === null;
  const marks = { folded: state?.folded, acting: acting && !out, winner: won > 0, out, you: player.you };
  const item = make("li", { class: Object.keys(marks).filter((name) => marks[name]).join(" ") });
  item.style.setProperty("--x", stretch(Math.cos(angle)).toFixed(3));
  item.style.setProperty("--y", stretch(Math.sin(angle)).toFixed(3));
  item.style.setProperty("--inward", Math.cos(angle) > 0.01 ? -1 : 1);
  const notes = state ? [...(state.folded ? ["folded"] : []), ...state.notes.filter((note) => note !== "button")] : ["sits out"];
  const cards = state && !player.you ? [...state.cards.map((code) => card(code)), ...backs(state.hidden_card_count)] : [];
  const shown = [
    make("div", { class: `cards${state && state.cards.length > 3 ? " long" : ""}` }, ...cards),
    make("span", { class: "name", title: player.you ? null : player.full_name }, player.you ? "You" : player.name),
    state && state.stack !== null ? make("span", { class: "stack" }, number(state.stack)) : null,
    ...notes.map((note) => make("span", { class: "note" }, note)),
    won ? make("span", { class: "won" }, signed(won)) : null,
    acting && event ? make("span", { class: "said" }, formatLabel(event.label)) : null,
  ];
  item.append(make("div", { class: "box" }, ...shown));
  if (state?.notes.includes("button"))
    item.append(make("span", { class: "button", role: "img", "aria-label": "button" }, "D"));
  if (state?.bet)
    item.append(make("span", { class: "stake", role: "img", "aria-label": `bet ${state.bet}` }, number(state.bet)));
  return item;
}

/** Draw the person's cards; in games whose moves are cards, each card is a button that selects it. */
function drawOwn(cards) {
  const choose = view.phase === "act" && listCardMoves().length > 0;
  const asButton = (code) =>
    card(code, "button", { "aria-pressed": String(selectedCards.has(code)), click: () => toggleCard(code), "data-card": code });
  const made = cards.map((code) => (choose ? asButton(code) : card(code)));
  $("own").className = `own${cards.length > 5 ? " fan" : ""}`;
  $("own").style.setProperty("--count", cards.length);
  $("own").replaceChildren(...made);
}

function toggleCard(code) {
  if (!selectedCards.delete(code)) selectedCards.add(code);
  markSelection();
}

/** Mark the selected cards, and enable the button to play them if they are a legal move. */
function markSelection() {
  for (const one of $("own").children)
    one.setAttribute("aria-pressed", String(selectedCards.has(one.dataset.card)));
  const move = findSelectedMove();
  const play = $("play");
  if (!play) return; // there is no button while moves of opponents are shown
  play.disabled = !move;
  play.firstChild.textContent = move ? formatLabel(move.label) : selectedCards.size ? "No legal play" : "Choose cards";
}

const listCardMoves = () => view.moves.filter((move) => move.cards.length);
const findSelectedMove = () =>
  listCardMoves().find((move) => move.cards.length === selectedCards.size && move.cards.every((one) => selectedCards.has(one)));

function selectCards(move) {
  selectedCards = new Set(move.cards);
  markSelection();
}

// Legal moves and hints.

function drawMoves() {
  const area = $("moves");
  if (view.phase === "over")
    return area.replaceChildren(button(`Next ${view.session.hand_noun}`, " ", () => send("next"), { class: "main" }));
  const sized = (move) => view.amounts && move.raise_to !== null;
  const others = view.moves.filter((move) => !move.cards.length && !sized(move));
  const made = others.map((move) => button(move.label, move.key, () => act(move), { class: move.action_type }));
  if (listCardMoves().length) made.push(button("Choose cards", "enter", () => act(findSelectedMove()), { id: "play", class: "main" }));
  if (view.session.adviser || listCardMoves().length) made.push(button("Hint", "h", showHint));
  if (listCardMoves().length) made.push(createCombinationButtons());
  if (view.amounts) made.push(createAmountControls(view.moves.filter(sized)));
  area.replaceChildren(...made);
  if (listCardMoves().length) markSelection();
}

/** Return a button for each combination of cards; each click selects its next legal play. */
function createCombinationButtons() {
  const kinds = Map.groupBy(listCardMoves(), (move) => move.action_type);
  const selectNext = (moves) => selectCards(moves[(moves.indexOf(findSelectedMove()) + 1) % moves.length]);
  const each = [...kinds].map(([kind, moves]) => button(`${title(kind)} (${moves.length})`, "", () => selectNext(moves)));
  return make("div", { class: "kinds", role: "group", "aria-label": "Combinations" }, ...each);
}

function createAmountControls(sizes) {
  const { low, high, unit_chips: step } = view.amounts;
  const bounds = { min: low, max: high, step: 1, value: amount };
  const field = make("input", { type: "number", id: "amount", "aria-label": "Amount", ...bounds });
  const slide = make("input", { type: "range", id: "slide", "aria-label": "Amount, by slider", ...bounds });
  const verb = sizes[0]?.action_type === "bet" ? "Bet" : "Raise to";
  const go = button(`${verb} ${number(amount)}`, "r", () => send("act", { to: amount }), { class: "raise" });
  const set = (value, from = null) => {
    amount = Math.min(high, Math.max(low, Math.round(value) || low));
    if (from !== field) field.value = amount;
    if (from !== slide) slide.value = amount;
    go.firstChild.textContent = `${verb} ${number(amount)}`;
  };
  field.addEventListener("input", () => set(Number(field.value), field));
  field.addEventListener("change", () => set(Number(field.value)));
  slide.addEventListener("input", () => set(Number(slide.value), slide));
  const presets = sizes.map((move) => button(title(move.size_name || move.label), move.key, () => set(move.raise_to)));
  const group = make("div", { class: "amounts", role: "group", "aria-label": "Amount" }, go, field, slide,
    make("div", { class: "presets" }, ...presets));
  group.shift = (steps, fine) => set(amount + steps * (fine ? 1 : step));
  return group;
}

const shift = (steps, fine) => document.querySelector(".amounts")?.shift(steps, fine);

async function showHint() {
  if (busy) return;
  if (suggestedMoves.length) {
    suggestedMoves.push(suggestedMoves.shift());
  } else {
    suggestedMoves = listCardMoves();
    if (view.session.adviser) {
      const turnOfRequest = view.turn;
      $("hint-title").textContent = `${view.session.adviser} would`;
      $("hint-title").title = view.session.adviser_full_name;
      $("hint-body").replaceChildren(createStatus("Computing the hint"));
      $("hint").hidden = false;
      const { ok, answer } = await ask("hint", { turn: view.turn });
      if (view.turn !== turnOfRequest) return;
      $("hint").hidden = !ok;
      if (!ok) $("error").textContent = answer.error;
      else {
        drawHint(answer);
        const rank = new Map(answer.probs.map((one) => [one.name, one.prob]));
        suggestedMoves.sort((a, b) => (rank.get(b.name) ?? 0) - (rank.get(a.name) ?? 0));
      }
    }
  }
  if (suggestedMoves.length) selectCards(suggestedMoves[0]);
}

const createStatus = (text) => make("p", { class: "working", role: "status" }, `${text} …`);

function drawHint(advice) {
  $("hint-body").replaceChildren(createProbBars(advice.probs));
  if (advice.text) $("hint-body").append(make("p", { class: "more" }, advice.text));
  if (view.session.grid) {
    const grid = make("details", {}, make("summary", {}, "With every starting hand"));
    grid.addEventListener("toggle", async () => {
      if (!grid.open || grid.children.length > 1) return;
      const { ok, answer } = await ask("ranges", { turn: view.turn, actions: null, board: "", names: [view.session.adviser] });
      if (grid.children.length === 1) grid.append(ok ? createHandGrid(answer.grids[0]) : make("p", {}, answer.error));
    });
    $("hint-body").append(grid);
  }
}

/** Return a player's policy with every starting hand as a grid: suited hands above the diagonal, offsuit below. */
function createHandGrid({ ranks, action_types: kinds, probs }) {
  const name = (row, column) => {
    const [high, low] = row < column ? [row, column] : [column, row];
    return ranks[high] + ranks[low] + (row === column ? "" : row < column ? "s" : "o");
  };
  const cell = (of, row, column) => {
    const text = kinds.map((kind, i) => `${kind} ${percent(of[i] ?? 0)}`).reverse().join(", ");
    const one = make("td", { title: `${name(row, column)}: ${of[0] === undefined ? "not left" : text}` }, name(row, column));
    if (of[0] !== undefined) {
      one.style.setProperty("--raise", of[2]);
      one.style.setProperty("--call", of[1] + of[2]);
    } else one.className = "gone";
    return one;
  };
  const rows = probs.map((of, row) => make("tr", {}, ...of.map((one, column) => cell(one ?? [], row, column))));
  return make("div", {}, make("table", { class: "hands" }, make("tbody", {}, ...rows)),
    make("p", { class: "key" }, ...Object.entries(ACTION_TYPE_NAMES).map(([kind, label]) =>
      make("span", { class: kind }, label))));
}

/** Return probabilities as bars, without most of those near 0. The taken move is marked. */
function createProbBars(groups) {
  const rows = groups.filter((one, i) => i < 4 || (i < 8 && one.prob >= 0.001) || one.is_taken);
  return make("ul", { class: "bars" }, ...rows.map((one) => {
    const bar = make("span", { class: "bar" });
    bar.style.setProperty("--share", one.prob);
    return make("li", { class: `${one.is_taken ? "mine" : ""} ${one.is_subgroup ? "part" : ""}` },
      make("span", {}, one.is_taken ? `${formatLabel(one.label)} ◂` : formatLabel(one.label), make("small", {}, one.facts)),
      make("b", {}, percent(one.prob)), bar);
  }));
}

// Review of a finished hand.

async function showReview(hand) {
  const turnOfRequest = view.turn;
  $("review-title").textContent = title(`${view.session.hand_noun} ${hand}`);
  $("review-body").replaceChildren(createStatus("Computing the grades"));
  $("review").hidden = false;
  const { ok, answer } = await ask(`review/${hand}`);
  if (view.turn !== turnOfRequest || view.phase !== "over") return;
  if (!ok) return $("review-body").replaceChildren(make("p", {}, answer.error));
  const { steps, before, after } = answer;
  shownHand = answer;
  const body = make("div", {});
  const slide = make("input", { type: "range", min: 0, max: steps.length, value: steps.length, "aria-label": "Replay" });
  const turn = () => {
    const at = Number(slide.value);
    const step = steps[at];
    slide.setAttribute("aria-valuetext", step ? `decision ${at + 1} of ${steps.length}` : "the end");
    body.replaceChildren(...(step ? describeDecision(step, at, steps.length) : describeGrades(steps, answer.grades)));
    if (step) drawTable(step.table, { seat: step.seat, label: step.label });
    else {
      drawTable(answer.hand === view.hand ? { ...answer.shown, hand_name: view.table.hand_name } : answer.shown, null);
      $("turn").textContent = describeState();
    }
  };
  slide.addEventListener("input", turn);
  const move = (by) => () => {
    slide.value = Number(slide.value) + by;
    turn();
  };
  const copied = make("textarea", { readonly: true, rows: 6, hidden: true, "aria-label": "The hand as text" });
  const copy = (kind) => async () => {
    const text = (await ask(`hands/${kind}/${hand}`)).answer;
    copied.hidden = false;
    copied.value = text.error ?? text;
    copied.select();
    await navigator.clipboard?.writeText(copied.value).catch(() => {}); // a browser may forbid it; the text is selected anyway
  };
  $("review-body").replaceChildren(
    make("div", { class: "replay" }, button("‹", "", move(-1), { "aria-label": "Back" }), slide,
      button("›", "", move(1), { "aria-label": "On" })),
    body,
    make("p", { class: "copies" }, button("Copy as text", "", copy("text")),
      view.session.phh ? button("Copy as PHH", "", copy("phh")) : null),
    copied,
    make("p", { class: "copies" }, ...[["Earlier", before], ["Later", after]].map(([word, other]) =>
      button(`${word} ${view.session.hand_noun}`, "", () => showReview(other), { disabled: other === null }))),
  );
  turn();
}

function describeDecision(step, at, count) {
  const player = shownHand.players[step.player_index];
  const who = player.you ? "You" : player.name;
  const made = [make("h3", {}, `${at + 1} of ${count} · ${who}: ${formatLabel(step.label)}`)];
  const whose = player.you ? view.session.adviser : player.name;
  if (step.probs) made.push(make("p", { class: "more" }, `Probabilities of ${whose}`), createProbBars(step.probs));
  if (step.grade) made.push(make("p", {}, `${title(step.grade.text)}.`));
  if (step.equilibrium)
    made.push(make("p", { class: "more" }, "Probabilities in an equilibrium"), createProbBars(step.equilibrium));
  return made;
}

/** Return the person's decisions with their grades; decisions with a single legal move are left out. */
function describeGrades(steps, rule) {
  const mine = steps.filter((step) => step.grade);
  if (!mine.length) return [make("p", {}, "Move the slider to replay it, with every player's probabilities.")];
  const grades = mine.map(({ label, grade }) =>
    make("li", { class: grade.word }, make("b", {}, `${formatLabel(label)}:`), ` ${grade.text}`));
  return [make("ul", { class: "grades" }, ...grades), make("p", { class: "more" }, rule)];
}

// Statistics of the session.

function drawStats(stats) {
  const explained = make("p", { class: "more", role: "status" });
  const term = (name, meaning) => make("button", { type: "button", class: "term", title: meaning,
    click: () => (explained.textContent = `${name}: ${meaning}.`) }, name);
  const table = make("dl", {}, ...stats.rows.flatMap(([name, text, meaning]) =>
    [make("dt", {}, meaning ? term(name, meaning) : name), make("dd", {}, text)]));
  const made = [table, explained, createCurve(stats)];
  const kinds = [["text", "hands.txt", "Save all hands as text"], ...(view.session.phh ? [["phh", "hands.phhs", "as PHH"]] : [])];
  if (stats.hands)
    made.push(make("p", { class: "more" }, ...kinds.flatMap(([kind, download, text]) => [make("a", { href: `hands/${kind}`, download }, text), " "])));
  $("stats").replaceChildren(...made.filter((one) => one !== null));
}

/** Draw the cumulative winnings over the hands as a line. */
function createCurve({ curve: all, unit, hands }) {
  if (all.length < 3) return null;
  const low = Math.min(...all), high = Math.max(...all), span = high - low || 1;
  const at = (value, i) => `${((300 * i) / (all.length - 1)).toFixed(1)},${(90 - (80 * (value - low)) / span).toFixed(1)}`;
  const zero = at(0, 0).split(",")[1];
  const name = `Won so far: ${signed(all.at(-1))} ${unit.split("/")[0]} after ${hands}`;
  return make("svg:svg", { class: "curve", viewBox: "0 0 300 100", role: "img", "aria-label": name, preserveAspectRatio: "none" },
    make("svg:line", { x1: 0, x2: 300, y1: zero, y2: zero }),
    make("svg:polyline", { points: all.map(at).join(" ") }));
}

// Keys and the mouse wheel: a key presses the button on which it is shown.

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open], .choosing")) return;
  const key = event.key.toLowerCase();
  const target = event.target;
  const typing = target.matches("input[type=number]");
  if (busy && (key === " " || key === "enter")) {
    event.preventDefault();
    return endPause();
  }
  if (typing && key !== "r" && key !== "f" && key !== "c") return;
  const cards = target.matches(".own button");
  if (key === "arrowleft" || key === "arrowright") {
    const by = key === "arrowright" ? 1 : -1;
    if (cards) (by > 0 ? target.nextElementSibling : target.previousElementSibling)?.focus();
    else if (!target.matches("input[type=range]") && listCardMoves().length) $("own").firstChild?.focus();
    else if (!target.matches("input[type=range]")) shift(by, event.shiftKey);
    return;
  }
  if ((key === " " || key === "enter") && target.matches("button, a") && !(cards && key === "enter")) return;
  if (key === "?") return $("help").showModal();
  const found = document.querySelector(`button[data-key="${CSS.escape(key)}"]:not(:disabled)`);
  if (found && !event.repeat) {
    event.preventDefault();
    found.click();
  }
});

$("table").addEventListener("wheel", (event) => {
  const by = event.deltaY || (event.shiftKey ? event.deltaX : 0); // with Shift, some systems report a horizontal turn
  if (!view?.amounts || !by) return;
  event.preventDefault();
  shift(by < 0 ? 1 : -1, event.shiftKey);
}, { passive: false });

// A button loses the focus after a mouse click; else Space would press it again instead of dealing the next hand.
document.addEventListener("click", (event) => {
  if (event.detail) event.target.closest("button:not(.card)")?.blur();
});

$("table").addEventListener("click", () => endPause());
$("help-button").addEventListener("click", () => $("help").showModal());
