#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The page of `farwire explore`: its states, hostile requests, and the page in a real browser.
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/check.sh
. tests/check.sh
if ! command -v python3 >/dev/null; then
	echo 'skipped explore: python3 is missing'
	exit 77
fi
tests=$PWD/tests/unit
export FARWIRE
cd "$scratch" || exit 2
python3 "$tests/explore.py"

# In a browser the page shows the state of its address, a key moves a slider, and then the answer and
# the address follow. The browser asks only this server, and its console has no message.
browser=
for name in chromium chromium-browser google-chrome; do
	[ -n "$browser" ] || browser=$(command -v $name)
done
if [ -z "$browser" ]; then
	echo 'skipped explore.browser: chromium is missing (tools/install-deps --long)'
	exit 0
fi
mkdir -p data/models
for part in "$FARWIRE_DATA"/*; do
	[ "${part##*/}" = models ] || ln -s "$part" data/
done
for part in "$FARWIRE_DATA"/models/*; do
	[ "${part##*/}" = explore.js ] || ln -s "$part" data/models/
done
# The script of the page, and a reader that moves the slider of the batch size by one value.
cat "$FARWIRE_DATA"/models/explore.js - >data/models/explore.js <<'END'
let moved = false;
setInterval(() => {
	if (moved || document.documentElement.dataset.done != "yes") return;
	moved = true;
	document.title = document.querySelector("#answer .answer").textContent;
	const batch = document.querySelector("select[name='case.batch']").parentElement;
	const slider = batch.querySelector("input");
	slider.stepUp();
	slider.dispatchEvent(new Event("input", {bubbles: true}));
}, 50);
END
FARWIRE_DATA=$PWD/data "$FARWIRE" explore local-and-remote --draws 2 >address &
server=$!
until [ -s address ] || ! kill -0 $server; do sleep 0.1; done
timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-background-networking \
	--disable-component-update --no-first-run --user-data-dir="$scratch/profile" --enable-logging=stderr \
	--host-resolver-rules='MAP * ~NOTFOUND, EXCLUDE 127.0.0.1' --virtual-time-budget=60000 --dump-dom \
	"$(cat address)?case.batch=64&case.runtime=batched&over=case.batch&no.such=1" >dom 2>browser.log
kill $server
wait $server || complain 'the server failed'
said() { # PATTERN MEANING
	grep -qE "$1" dom || complain "$2"
}
said '<title>.*throughput is [0-9.]+ images/s \(' 'the state of the address has no answer with an interval'
said 'farwire run local-and-remote .*--set case.batch=96.*</code>' 'the slider did not change the batch size'
said 'farwire run .*case.runtime=batched.*</code>' 'the address did not choose the runtime'
said 'href="http://127.0.0.1:[0-9]+/\?case.runtime=batched&amp;case.batch=96&amp;over=case.batch"' \
	'the link has another state'
said 'aria-valuetext="96"' 'the slider does not say its value'
said 'The answer is complete' 'the page does not say that it is complete'
said '<section id="curve".*' 'there is no curve'
[ "$(grep -c '<svg' dom)" = 2 ] || complain "the page has $(grep -c '<svg' dom) figures, not 2"
! grep CONSOLE browser.log || complain 'the console has messages'
verdict explore.a_browser_shows_states_and_follows_sliders
