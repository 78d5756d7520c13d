# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests to the page of `farwire explore`, for tests/unit/explore.sh.

Each function is a test. It starts the server with Server(), and a failed assertion is a complaint."""

import html
import http.client
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote, urlencode

FARWIRE = os.environ["FARWIRE"]
CASE = "local-and-remote"
LATENCY = "link.port-s1.latency"
SLOW = "mixed-pool"  # its 24 draws take a minute
LONG = "/answer?interval=1"


class Server:
    def __init__(self, *words, **environment):
        self.process = subprocess.Popen(
            [FARWIRE, "explore", *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, **environment})  # fmt: skip
        self.address = self.process.stdout.readline().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/", self.address)
        assert found, (self.address, self.process.stderr.read())
        self.port = int(found[1])

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.kill()
        self.process.wait()

    def send(self, path, method="GET", headers=None, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), answer.headers

    def get(self, path, **state):
        return self.send(path + ("?" + urlencode(state) if state else ""))[:2]

    def raw(self, data):
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as client:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            return client.makefile("rb").read().decode()

    def children(self):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as file:
            return [int(word) for word in file.read().split()]

    def lives(self):
        status, text = self.get("/")
        assert status == 200 and "<h1>" in text, (status, text)


def values_of(page, key):
    choice = re.search(f'name="{re.escape(key)}">(.*?)</select>', page, re.DOTALL)
    return re.findall(r"<option(?: selected)?>([^<]*)", choice[1]) if choice else []


def wait_until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def throughput(text):
    found = re.search(r"throughput is ([\d.]+)", text)
    assert found, text
    return float(found[1])


def the_page_has_a_control_for_each_setting_of_the_case():
    with Server(CASE) as server:
        status, page, headers = server.send("/")
        assert status == 200
        for key in (LATENCY, "link.port-s1.bandwidth", "case.batch", "case.gpus", "case.runtime"):
            assert len(values_of(page, key)) > 5, key
        # batch 32 is the case's own; its neighbours in 1, 2, 3, 4, 6, 8 ... are 24 and 48
        batches = values_of(page, "case.batch")
        assert "<option selected>32</option>" in page
        assert batches[batches.index("32") - 1 :][:3] == ["24", "32", "48"], batches
        # the port has 100 Gbit/s, and the next values of the series are round in this unit, too
        rates = values_of(page, "link.port-s1.bandwidth")
        assert "<option selected>100 Gbit/s</option>" in page
        assert rates[rates.index("100 Gbit/s") - 1 :][:3] == ["50 Gbit/s", "100 Gbit/s", "200 Gbit/s"], rates
        assert not values_of(page, "case.copies"), "a job refuses copies"
        assert not values_of(page, "case.topology"), "a topology replaces the case"
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'"), policy
        assert not re.search(r"unsafe|\*|https?:", policy), policy
        for name in re.findall(r'(?:src|href)="(/[^"]+)"', page):
            assert server.get(name)[0] == 200, name
        assert "http:" not in page + server.get("/explore.js")[1] + server.get("/explore.css")[1]


def model_servers_have_a_control_for_their_rate():
    with Server("serve-llama3-h100", "--for", "serve.batch") as server:
        page = server.get("/")[1]
        for key in ("serve.rate", "serve.prompt", "serve.output", "serve.batch"):
            assert "<option" in page and len(values_of(page, key)) > 5, key
        assert not values_of(page, "case.batch"), "model servers refuse case.batch"
        assert "latency" in server.get("/answer", **{"serve.rate": "5"})[1]


def each_state_is_a_command_with_the_same_answer():
    with Server(CASE) as server:
        page = server.get("/")[1]
        seen = set()
        for state in ({}, {LATENCY: "200 us"}, {"case.batch": "64"}, {"case.runtime": "synchronous"},
                      {LATENCY: "50 us", "case.gpus": "2", "case.batch": "16"}):  # fmt: skip
            assert all(value in values_of(page, key) for key, value in state.items()), state
            status, text = server.get("/answer", **state)
            assert status == 200 and "90 % interval</th>" in text, text
            command = html.unescape(re.search(r'id="command"[^>]*>(.*?)</code>', text)[1])
            words = shlex.split(command)
            assert words[:3] == ["farwire", "run", CASE], command
            again = subprocess.run([FARWIRE, *words[1:], "--draws", "0", "--format", "json"],
                                   capture_output=True, text=True, check=True)  # fmt: skip
            exact = float(re.search(r'"throughput": *\{[^}]*?"value": *([\d.e+]+)', again.stdout)[1])
            assert abs(throughput(text) / exact - 1) < 1e-3, (state, exact, text[:500])
            seen.add(throughput(text))
        assert len(seen) == 5, seen
        # a link that equals others changes all of them
        assert "link.port-c.latency=50 us" in command and LATENCY + "=50 us" in command, command


def an_interval_comes_with_advice_and_a_curve_without():
    with Server(CASE, "--draws", "4") as server:
        fast, slow = server.get("/answer")[1], server.get("/answer", interval=1)[1]
        assert throughput(fast) == throughput(slow)
        assert not re.search(r"images/s \(", fast) and re.search(r"images/s \([\d.]+ to", slow)
        assert "Would help:" in slow and "Would help:" not in fast
        assert "--draws 4" in slow
        status, curve = server.get("/curve", over="case.batch")
        assert status == 200 and curve.count("<figure") == 1 and "batch size" in curve, curve
        assert "Values that the case refuses are left out" not in curve
        # the topology has 4 GPUs, of the values 1, 2, 3, 4, 6, 8 ...
        status, curve = server.get("/curve", over="case.gpus")
        assert status == 200 and "Values that the case refuses are left out" in curve, curve


def a_case_that_fails_gives_its_error_and_the_server_lives():
    with Server(CASE) as server:
        status, text = server.get("/answer", **{"case.gpus": "32"})
        assert status == 400 and 'class="answer alarm"' in text, text
        assert "case.gpus" in text and "--set case.gpus=32" in text, text
        server.lives()


def values_that_the_page_does_not_list_are_refused():
    with Server(CASE) as server:
        for state in ({"case.batch": "33"}, {"case.batch": "64 "}, {"case.batch": ""},
                      {"case.model": "../../../etc/passwd"}, {"case.model": "/etc/passwd.cfg"},
                      {"case.calls": "x.jsonl"}, {"case.topology": "dgx-h100"}, {"set": "case.batch=64"},
                      {"plan.tp": "8"}, {"output": "/tmp/x"}, {"over": "case.batch"},
                      {"case.batch\n": "64"}, {"<script>alert(1)</script>": "<img src=x>"}):  # fmt: skip
            status, text = server.get("/answer", **state)
            assert status == 400, (state, status)
            assert "<script" not in text and "<img" not in text and "root:" not in text, text
        for state in ({}, {"over": "case.model"}, {"over": "x"}):
            assert server.get("/curve", **state)[0] == 400, state
        assert server.get("/answer?case.batch")[0] == 400
        assert server.get("/answer?case.batch%00x=64")[0] in (200, 400)
        server.lives()


def only_its_own_files_are_sent():
    with Server(CASE) as server:
        for path in ("/..", "/../models/report.css", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd",
                     "/models/report.css", "/explore.html", "/./", "/answer/", "/report.css/..",
                     "/" + "a/" * 500, "/" + quote("é<>\"'")):  # fmt: skip
            status, text = server.get(path)
            assert status == 404 and "root:" not in text and "<" not in text, (path, status)
        server.lives()


def other_methods_names_and_pages_are_refused():
    with Server(CASE) as server:
        here = f"127.0.0.1:{server.port}"
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "HEAD", "TRACE", "PATCH", "get"):
            assert server.send("/answer", method)[0] == 405, method
        assert server.send("/", "POST", body=b"x" * 100000)[0] == 405
        for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1", f"{here}0",
                     f"127.0.0.1.evil.example:{server.port}", "", f" {here} x"):  # fmt: skip
            for path in ("/", "/answer", "/explore.js"):
                assert server.send(path, headers={"Host": host})[0] == 403, host
        assert server.raw(b"GET / HTTP/1.0\r\n\r\n").split()[1] == "403"
        assert server.send("/", headers={"Host": f"localhost:{server.port}"})[0] == 200
        for origin in ("http://evil.example", "null", f"https://{here}", f"http://{here}.evil"):
            assert server.send("/answer", headers={"Origin": origin})[0] == 403, origin
        assert server.send("/answer", headers={"Origin": f"http://{here}"})[0] == 200
        site = {"Sec-Fetch-Site": "cross-site"}
        assert server.send("/answer", headers=site)[0] == 403
        assert server.send("/", headers=site)[0] == 200, "a link to a state may be anywhere"
        for own in ("none", "same-origin"):  # an address that a user types has no site
            assert server.send("/answer", headers={"Sec-Fetch-Site": own})[0] == 200, own
        server.lives()


def long_and_broken_requests_are_refused():
    with Server(CASE) as server:
        assert server.get("/answer?x=" + "y" * 20000)[0] in (413, 414, 431)
        assert server.send("/", headers={"X": "y" * 20000})[0] in (413, 431)
        for count in (64, 65):
            status, text = server.get("/answer?" + "&".join(f"a{i}=1" for i in range(count)))
            assert status == 400 and ("too many settings" in text) == (count > 64), text
        for data in (b"", b"\0" * 5000, b"GET\r\n\r\n", b"\xff\xfe\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
                     b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", os.urandom(5000)):  # fmt: skip
            assert not server.raw(data).startswith("HTTP/1.1 200"), data[:30]
        server.lives()


def many_requests_at_once_are_answered():
    with Server(CASE) as server:
        idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(4)]
        with ThreadPoolExecutor(24) as pool:
            answers = list(pool.map(lambda _: server.get("/explore.js")[0], range(48)))
        assert answers == 48 * [200], answers
        for connection in idle:
            connection.close()
        assert wait_until(lambda: not server.children()), "connections stay"


def clients_that_send_a_byte_a_second_do_not_keep_others_out():
    with Server(CASE) as server:
        slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(8)]
        with ThreadPoolExecutor(1) as pool:
            for connection in slow:
                connection.sendall(b"GET /")
            assert wait_until(lambda: len(server.children()) == 8), "the slow clients come first"
            asked = pool.submit(server.get, "/explore.css")
            end = time.monotonic() + 20
            while not asked.done() and time.monotonic() < end:
                for connection in slow:
                    try:
                        connection.sendall(b"a")
                    except OSError:
                        pass  # the server has closed it
                time.sleep(1)
            assert asked.done(), "slow clients keep the server busy"
            assert asked.result()[0] == 200
        for connection in slow:
            connection.close()


def a_request_that_its_client_leaves_ends():
    with Server(SLOW) as server:
        client = socket.create_connection(("127.0.0.1", server.port))
        client.sendall(f"GET {LONG} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
        time.sleep(1)
        assert len(server.children()) == 1, "the answer should take longer"
        client.close()
        assert wait_until(lambda: not server.children(), 4), "the answer is computed for no client"
        server.lives()


def a_process_that_dies_gives_a_message():
    with Server(SLOW) as server:
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(server.get, LONG)
            assert wait_until(server.children)
            time.sleep(0.5)
            os.kill(server.children()[0], signal.SIGSEGV)
            status, text = asked.result()
        assert status == 503 and "There is no answer, because" in text, (status, text)
        server.lives()


def names_of_the_case_are_no_scripts():
    evil = '<script>alert(1)</script>"onload=\'x\''
    with open("evil.cfg", "w") as file:
        escaped = evil.replace('"', '\\"')
        file.write(f'case = {{ name = "{escaped}"; topology = "local-and-remote"; gpus = 4; '
                   'programs = 1; program = "client"; runtime = "asynchronous"; };\n')  # fmt: skip
    os.rename("evil.cfg", "evil';$(x) <b>.cfg")
    with Server("./evil';$(x) <b>.cfg") as server:
        for path in ("/", "/answer", "/curve?over=case.batch"):
            status, text = server.get(path)
            assert status == 200 and "<script>alert" not in text and "<b>" not in text.replace("<b>Fig", ""), path
            if path != "/curve?over=case.batch":
                assert html.escape("<script>alert(1)") in text, text
        command = re.search(r'id="command"[^>]*>(.*?)</code>', server.get("/answer")[1])[1]
        assert shlex.split(html.unescape(command))[2] == "./evil';$(x) <b>.cfg", command


def names_of_parts_are_no_scripts():
    """A bare text in the page would be the start tag of a script."""
    evil = "'><script>x</script>&</style>"
    with open(f"{os.environ['FARWIRE_DATA']}/topologies/{CASE}.cfg") as file:
        text = file.read()
    text = text.replace('@include "', f'@include "{os.environ["FARWIRE_DATA"]}/topologies/')
    for name in ("desk", "rack1", "client", "gpu1", "port-s1", "slot0", "tor"):
        text = text.replace(f'"{name}"', f'"{name}{evil}"')
    with open("evil-parts.cfg", "w") as file:
        file.write(text)
    words = ("--topology", "./evil-parts.cfg", "--gpus", "4", "--program", f"client{evil}",
             "--runtime", "asynchronous", "--model", "resnet50", "--draws", "2")  # fmt: skip
    with Server(*words) as server:
        page = server.get("/")[1]
        assert f'name="link.port-s1{html.escape(evil)}.latency"'.replace("&#x27;", "&#39;") in page, page
        for path in ("/", "/answer", LONG, "/curve?over=case.batch"):
            status, text = server.get(path)
            assert status == 200 and "<script>x" not in text and "</style>&" not in text, (path, text)


def port_80_has_no_number_in_the_headers_of_a_browser():
    try:
        with Server(CASE, "--port", "80") as server:
            server.lives()  # http.client leaves out the number, too
            origin = {"Origin": "http://localhost"}
            assert server.send("/answer", headers=origin)[0] == 200
            assert server.send("/answer", headers={"Host": "evil.example"})[0] == 403
    except AssertionError as error:
        if "cannot serve on port 80" not in str(error):
            raise
        print("skipped explore.port_80: the system does not allow this port")


def only_this_machine_is_served():
    with Server(CASE) as server, open("/proc/net/tcp") as file:
        port = f":{server.port:04X}"
        own = [line.split()[1] for line in file if port in line.split()[1] and " 0A " in line]
        assert own == ["0100007F" + port], own
        other = subprocess.run([FARWIRE, "explore", CASE, "--port", str(server.port)],
                               capture_output=True, text=True)  # fmt: skip
        assert other.returncode == 1 and "write another --port" in other.stderr, other


def an_interrupt_ends_the_server_and_its_answers():
    for number in (signal.SIGINT, signal.SIGTERM):
        with Server(SLOW) as server:
            client = socket.create_connection(("127.0.0.1", server.port))
            client.sendall(f"GET {LONG} HTTP/1.1\r\nHost: localhost:{server.port}\r\n\r\n".encode())
            assert wait_until(server.children)
            children = server.children()
            server.process.send_signal(number)
            assert server.process.wait(20) == 0
            assert server.process.stderr.read() == ""
            assert not any(os.path.exists(f"/proc/{child}") for child in children)


def a_wrong_command_line_starts_no_server():
    for words, pattern in (((CASE, "--port", "70000"), "--port must be"), (("no-such-case",), "no case"),
                           ((CASE, "--for", "case.model"), "is not a number of this case"),
                           ((CASE, "--batch", "x"), "case.batch"), ((CASE, CASE), "takes one CASE")):  # fmt: skip
        ended = subprocess.run([FARWIRE, "explore", *words], capture_output=True, text=True, timeout=60)
        assert ended.returncode == 2 and pattern in ended.stderr and not ended.stdout, (words, ended)


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if getattr(test, "__module__", "") == "__main__" and name[0].islower() and test.__code__.co_argcount == 0:
            try:
                test()
                print(f"ok explore.{name}", flush=True)
            except Exception:
                traceback.print_exc(file=sys.stdout)
                print(f"FAIL explore.{name}", flush=True)
