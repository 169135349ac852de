"use strict";
// The start screen with the choice of game and opponents, the rules of games, and results over sessions.

const hasStart = document.body.dataset.start !== undefined;

/** Show the rules of a game: the first section with a name that the game's name contains. */
function showRules(game) {
  const sections = [...$("rules").querySelectorAll("section")];
  const found = sections.find((one) => one.dataset.game.split(" ").some((name) => game.includes(name)));
  for (const one of sections) one.hidden = one !== found;
  $("rules").showModal();
}

const formatName = (name) => name.replaceAll("_", " ");
const createOption = (value, text, chosen) => make("option", { value, selected: value === chosen }, text);

async function showStart() {
  const { ok, answer } = await ask("start");
  $("error").textContent = ok ? "" : answer.error;
  if (!ok) return;
  document.body.classList.add("choosing");
  $("game").textContent = document.title;
  $("start").hidden = false;
  const games = $("start-game");
  games.replaceChildren(...answer.games.map((one) => createOption(one.name, formatName(one.name), answer.game)));
  const choose = async () => {
    $("start-about").textContent = answer.games.find((one) => one.name === games.value).about;
    await showOpponents(games.value);
  };
  games.onchange = choose;
  const last = answer.last;
  $("start-last").hidden = last === null;
  if (last)
    $("start-last").replaceChildren(
      button("Continue the last session", "", resume, { class: "main" }),
      make("span", {}, `${formatName(last.game)} against ${last.against}, finished ${last.hands}`));
  await choose();
}

/** Show a menu of opponents for each other seat. The first menu sets all others that the person has not changed. */
async function showOpponents(game) {
  const area = $("start-seats");
  $("start-play").disabled = true;
  area.replaceChildren(createStatus("Loading the players of this game"));
  const { ok, answer } = await ask(`players/${game}`);
  if (game !== $("start-game").value) return;
  if (!ok) return area.replaceChildren(make("p", {}, answer.error));
  const short = (spec) => spec.split("/").at(-1);
  const rows = Array.from({ length: answer.seats - 1 }, (_, i) => {
    const menu = make("select", { name: "against" }, ...answer.players.map((one) => createOption(one.spec, short(one.spec))));
    const about = make("small", {});
    const showAbout = () => (about.textContent = answer.players.find((one) => one.spec === menu.value).about);
    menu.addEventListener("change", () => {
      menu.dataset.changed = "";
      showAbout();
      const others = i ? [] : [...area.querySelectorAll("select:not([data-changed])")];
      for (const other of others) {
        other.value = menu.value;
        other.nextElementSibling.textContent = about.textContent;
      }
    });
    showAbout();
    return make("label", {}, answer.seats > 2 ? `Opponent ${i + 1}` : "Opponent", menu, about);
  });
  area.replaceChildren(...rows);
  $("start-play").disabled = !answer.players.length;
}

function hideStart() {
  sessionStorage.playing = "yes";
  document.body.classList.remove("choosing");
  $("start").hidden = true;
}

async function resume() {
  const { ok, answer } = await ask("view");
  if (!ok || !answer) return ($("start-error").textContent = ok ? "This session is gone." : answer.error);
  hideStart();
  await showView(answer, false);
}

async function begin() {
  const against = [...$("start-seats").querySelectorAll("select")].map((one) => one.value);
  $("start-play").disabled = true;
  $("start-error").replaceChildren(createStatus("Setting up the table"));
  const { ok, answer } = await ask("begin", { game: $("start-game").value, against });
  $("start-error").textContent = ok ? "" : answer.error;
  $("start-play").disabled = false;
  if (!ok) return;
  hideStart();
  await showView(answer);
}

$("start").addEventListener("submit", (event) => {
  event.preventDefault();
  runAlone(begin);
});
$("start-rules").addEventListener("click", () => showRules($("start-game").value));
$("rules-button").addEventListener("click", () => showRules(view?.session.game ?? ""));

$("fresh").addEventListener("click", () => (hasStart ? runAlone(showStart) : send("begin")));

$("results-button")?.addEventListener("click", async () => {
  $("results-body").replaceChildren(createStatus("Reading the sessions"));
  $("results").showModal();
  const { ok, answer } = await ask("results");
  if (!ok) return $("results-body").replaceChildren(make("p", {}, answer.error));
  const cells = (one) => [formatName(one.game), one.against, number(one.sessions), number(one.hands), `${one.text} ${one.unit}`, one.ev_adjusted?.text ?? "–"];
  const heads = ["Game", "Against", "Sessions", "Hands", "Won", "EV-adjusted"];
  $("results-body").replaceChildren(answer.length
    ? make("table", {}, make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
        make("tbody", {}, ...answer.map((row) => make("tr", {}, ...cells(row).map((cell) => make("td", {}, cell))))))
    : make("p", {}, "No hand has been finished yet."));
});

/** Show the visitor's session; if there is none, the start screen or a new session. */
async function openPage() {
  if (hasStart && !sessionStorage.playing) return showStart();
  const { ok, status, answer } = await ask("view");
  if (ok && answer) await showView(answer, false);
  else if (hasStart) await showStart();
  else if (ok) await send("begin");
  else $("wait").textContent = status ? `${answer.error} “New session” begins another one.` : answer.error;
}

openPage();
