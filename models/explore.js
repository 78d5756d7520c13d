// The page of `farwire explore`. A setting is a <select>, and the slider of a number moves it. Each
// change asks the server for parts of the page. A newer change cancels requests of an older one.
"use strict";

const form = document.getElementById("settings");
const over = document.getElementById("over");
const said = document.getElementById("status");
const selects = [...form.querySelectorAll("select[name]")];
const sliders = [...form.querySelectorAll("input[type=range]")];
let running = new AbortController();
let timer = 0;

function isChanged(select) {
	return !select.selectedOptions[0].defaultSelected;
}

// The settings that differ from the case.
function state() {
	return new URLSearchParams(selects.filter(isChanged).map(select => [select.name, select.value]));
}

// Takes the settings of the address. Unknown values keep those of the case.
function readAddress() {
	form.reset();
	for (const [name, value] of new URLSearchParams(location.search)) {
		const select = name == "over" ? over : selects.find(one => one.name == name);
		const option = select && [...select.options].find(one => one.value == value);
		if (option) option.selected = true;
	}
	showSettings();
}

function showSettings() {
	for (const select of selects) select.parentElement.classList.toggle("changed", isChanged(select));
	for (const slider of sliders) {
		const select = document.getElementById(slider.dataset.of);
		slider.value = select.selectedIndex;
		slider.setAttribute("aria-valuetext", select.value);
	}
}

// Shows an answer of the server in a part of the page.
async function fill(id, address, signal) {
	const part = document.getElementById(id);
	part.classList.add("old");
	const response = await fetch(address, {signal});
	const text = await response.text();
	if (signal.aborted) return;
	if (response.headers.get("Content-Type").startsWith("text/html")) part.innerHTML = text;
	else part.textContent = text;
	part.classList.remove("old");
}

async function ask() {
	running.abort();
	running = new AbortController();
	const signal = running.signal, settings = state();
	const address = new URLSearchParams(settings);
	if (over.selectedIndex > 0) address.set("over", over.value);
	history.replaceState(null, "", "/" + (String(address) && "?" + address));
	document.getElementById("link").href = location.href;
	document.documentElement.dataset.done = "";
	said.textContent = "Predicting ...";
	try {
		await fill("answer", "/answer?" + settings, signal);
		said.textContent = "The answer has no interval yet.";
		const interval = new URLSearchParams(settings), curve = new URLSearchParams(settings);
		interval.set("interval", "1");
		curve.set("over", over.value);
		await Promise.all([fill("answer", "/answer?" + interval, signal),
			over.value && fill("curve", "/curve?" + curve, signal)]);
		said.textContent = "The answer is complete.";
	} catch (error) {
		if (signal.aborted) return;
		said.textContent = "The server does not answer: start farwire explore again.";
	}
	document.documentElement.dataset.done = "yes";
}

function changed() {
	showSettings();
	clearTimeout(timer);
	timer = setTimeout(ask, 60);
}

form.addEventListener("input", event => {
	const slider = event.target;
	if (slider.type == "range") document.getElementById(slider.dataset.of).selectedIndex = slider.value;
	changed();
});
form.addEventListener("submit", event => event.preventDefault());
form.addEventListener("reset", () => setTimeout(changed));
document.addEventListener("click", event => {
	if (event.target.id != "copy") return;
	const text = document.getElementById("command").textContent;
	navigator.clipboard.writeText(text).then(() => said.textContent = "The command is copied.");
});
addEventListener("popstate", () => {
	readAddress();
	ask();
});
readAddress();
ask();
