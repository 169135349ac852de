"use strict";
// The range explorer: choose actions one by one, and see players' policies with every starting hand.

let position = null; // the last position from the server
let shownPlayers = []; // names of the players whose grids are shown
let rangesSession = null; // id of the session of `position` and `shownPlayers`

/** Show the position after these actions; without `actions`, the position of the present hand. */
async function explore(actions = null, board = "") {
  $("ranges-error").replaceChildren(createStatus("Computing the ranges"));
  const { ok, answer } = await ask("ranges", { actions, board, names: shownPlayers });
  $("ranges-error").textContent = ok ? "" : answer.error;
  if (!ok) return;
  position = answer;
  if (!shownPlayers.length) shownPlayers = answer.players.slice(0, 1);
  drawRanges();
}

function drawRanges() {
  const { actions, path, board, moves, grids, seat } = position;
  const exploreFirst = (count) => explore(actions.slice(0, count), board);
  const steps = [button("Start", "", () => exploreFirst(0)),
    ...path.map((step, i) => button(step.label, "", () => exploreFirst(i + 1), { title: step.seat }))];
  $("ranges-path").replaceChildren(...steps.flatMap((step, i) => (i ? ["›", step] : [step])));
  $("ranges-where").textContent = `${position.street}, pot ${position.pot}${seat ? `; ${seat} to act` : "; the hand is over"}`;
  $("ranges-moves").replaceChildren(...moves.map((move) =>
    button(move.size_name ? `${move.label} (${move.size_name})` : move.label, "", () => explore([...actions, move.action], board), { class: move.label.split(" ")[0].toLowerCase() })));
  $("ranges-board").hidden = !position.board_count;
  $("ranges-cards").value = board;
  $("ranges-cards").maxLength = 2 * position.board_count;
  const menu = (i) => {
    const none = i ? [createOption("", "no second player", shownPlayers[i] ?? "")] : [];
    const made = make("select", { "aria-label": i ? "Second player" : "Player" }, ...none,
      ...position.players.map((name) => createOption(name, name, shownPlayers[i])));
    made.onchange = () => {
      shownPlayers[i] = made.value;
      shownPlayers = shownPlayers.filter(Boolean);
      explore(actions, board);
    };
    return made;
  };
  const total = (grid) => Object.entries(ACTION_TYPE_NAMES).map(([kind, label]) =>
    `${label} ${percent(grid.mean[grid.action_types.indexOf(kind)])}`).join(", ");
  $("ranges-grids").replaceChildren(...[0, 1].map((i) =>
    make("section", {}, menu(i), ...(grids[i] ? [make("p", { class: "more" }, total(grids[i])), createHandGrid(grids[i])] : []))));
}

$("ranges-button").addEventListener("click", () => {
  if (rangesSession !== view.session.id) {
    rangesSession = view.session.id;
    position = null;
    shownPlayers = [];
  }
  $("ranges").showModal();
  explore();
});
$("ranges-form").addEventListener("submit", (event) => {
  event.preventDefault();
  explore(position?.actions, $("ranges-cards").value.trim());
});
$("ranges-hand").addEventListener("click", () => explore());
