# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the Python package: test_farwire.py. Prints "ok python.NAME" or "FAIL python.NAME"."""

import json
import math
import os
import pickle
import re
import resource
import subprocess
import sys
import tempfile
import typing
import unittest
from pathlib import Path
from unittest import mock

import farwire
from farwire import _case

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ["FARWIRE"]
# What the package decides itself, or what has no meaning for it.
OWN_OPTIONS = set("format output plot no-data wide color quiet links".split())
TRAINING = {"topology": "dgx1-v100", "model": "resnet50", "gpus": 2, "batch": 16}


def ask(*words):
    return subprocess.run([PROGRAM, *words], check=True, capture_output=True, text=True).stdout


def options_of(verb):
    found = set(re.findall(r"^ +(?:-[a-z], )?--([a-z-]+)", ask(verb, "--help"), re.MULTILINE))
    return {option.replace("-", "_") for option in found - OWN_OPTIONS}


def arguments_of(kind):
    return {name.rstrip("_") for name in kind.__annotations__} - set(_case.Control.__annotations__)


class Tests(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def pretend(self, script):
        """Puts a shell script in place of the program, and returns the file of its process id."""
        path = self.folder / "farwire"
        path.write_text(f"#!/bin/sh\necho $$ >{self.folder}/pid\n{script}\n")
        path.chmod(0o755)
        patch = mock.patch.dict(os.environ, {"FARWIRE": str(path)})
        patch.start()
        self.addCleanup(patch.stop)

    def check_ended(self):
        process = int((self.folder / "pid").read_text())
        with self.assertRaises(ProcessLookupError):
            os.kill(process, 0)

    def test_a_run_has_the_numbers_of_the_json(self):
        answer = farwire.run("ddl-calico", draws=2)
        wanted = json.loads(ask("run", "ddl-calico", "--draws=2", "--format=json"))[0]
        self.assertEqual(answer.json, wanted)
        self.assertEqual(answer.throughput, wanted["throughput"]["value"])
        self.assertEqual(answer.throughput.low, wanted["throughput"]["low"])
        self.assertEqual(answer.throughput.unit, "images/s")
        self.assertEqual(answer.breakdown, wanted["breakdown"])
        self.assertEqual(answer.links[0].carried_B, wanted["links"][0]["carried_B"])
        self.assertTrue(answer.ok)
        self.assertEqual(answer.notes, ())

    def test_every_field_of_a_prediction_has_a_type(self):
        training = farwire.run(TRAINING, prices="list-2026", draws=0)
        serving = farwire.run("serve-resnet50-t4", prices="list-2026", draws=0)
        self.assertEqual({*training, *serving}, set(farwire.Prediction.__annotations__))
        for field, kind in typing.get_type_hints(farwire.Prediction).items():
            value = serving.get(field)
            if isinstance(value, farwire.Estimate) or kind is farwire.Estimate:
                self.assertIs(kind, farwire.Estimate, field)
                self.assertIsInstance(value, farwire.Estimate, field)

    def test_every_option_of_the_program_has_a_typed_argument(self):
        for verb, kind in {
            "run": _case.RunOptions,
            "compare": _case.CompareOptions,
            "scale": _case.CompareOptions,
            "sweep": _case.SweepOptions,
            "plan": _case.PlanOptions,
            "solve": _case.SolveOptions,
            "users": _case.UsersOptions,
            "sensitivity": _case.SensitivityOptions,
            "validate": _case.ValidateOptions,
        }.items():
            self.assertEqual(options_of(verb), arguments_of(kind), verb)
        self.assertLessEqual(options_of("explain"), arguments_of(_case.CaseOptions))

    def test_every_argument_of_serve_is_a_setting_of_the_program(self):
        listed = set(re.findall(r"^serve +([a-z_]+)", ask("list", "parameters"), re.MULTILINE))
        extra = arguments_of(_case.ServeOptions) - arguments_of(_case.RunOptions)
        self.assertTrue(extra)
        self.assertLessEqual(extra, listed)

    def test_dictionaries_and_arguments_and_options_give_the_same_answer(self):
        words = "--topology dgx1-v100 --model resnet50 --gpus 2 --batch 16 --set case.epochs=2"
        wanted = json.loads(ask("run", *words.split(), "--draws=0", "--format=json"))[0]
        case = {**TRAINING, "case.epochs": 2}
        self.assertEqual(farwire.run(case, draws=0).json, wanted)
        self.assertEqual(farwire.run(**TRAINING, set={"case.epochs": 2}, draws=0).json, wanted)
        self.assertEqual(farwire.run(TRAINING, set=["case.epochs=2"], draws=0).json, wanted)
        both = farwire.run(case, case, draws=0)
        self.assertEqual([part.training for part in both], 2 * [wanted["training"]["value"]])

    def test_a_dictionary_in_a_comparison_has_its_name_plan_and_settings(self):
        plan = {"topology": "dgx-h100", "model": "gpt2", "gpus": 2, "plan": {"tp": 2}}
        served = {"topology": "dgx-h100", "model": "gpt2", "serve": "rate=2,output=4", "name": 'a"b\\'}
        first, second = farwire.run(plan, served, draws=0)
        self.assertIn("tp=2", first.case)
        self.assertEqual(second.case, 'a"b\\')
        self.assertEqual(second.throughput.unit, "requests/s")
        table = farwire.compare({**TRAINING, "name": "one"}, {**TRAINING, "name": "two"}, draws=0)
        self.assertEqual(table.column("case"), ["one", "two"])
        self.assertEqual(table[1].to_first, 1)

    def test_serve_takes_its_settings_as_arguments(self):
        server = {"topology": "dgx-h100", "model": "gpt2"}
        wanted = farwire.run(server, serve="rate=3,prompt=64,output=4", draws=0)
        self.assertEqual(farwire.serve(server, rate=3, prompt=64, output=4, draws=0).json, wanted.json)
        same = farwire.serve(**server, rate=3, serve={"prompt": 64, "output": 4}, draws=0)
        self.assertEqual(same.json, wanted.json)
        self.assertIn("mean latency", str(same))

    def test_tables_have_the_rows_of_their_verb(self):
        sweep = farwire.sweep(TRAINING, vary={"case.batch": [8, 16]})
        self.assertEqual(sweep.column("case.batch"), [8, 16])
        self.assertEqual(sweep[0].step_s.unit, "s")
        self.assertLess(sweep[0].step_s, sweep[1].step_s)
        scale = farwire.scale(TRAINING, gpus=[1, 2], draws=0)
        self.assertEqual(scale.column("gpus"), [1, 2])
        self.assertEqual(scale[0].efficiency, 1)
        plan = farwire.plan(topology="dgx-h100", model="gpt2", gpus=2, plan={"global_batch": 4},
                            best=1, draws=0)  # fmt: skip
        self.assertEqual(len(plan), 1)
        self.assertRegex(plan[0].plan, "^tp=")
        solved = farwire.solve(TRAINING, target="step<=100 ms", for_="case.batch", draws=0)
        self.assertEqual(solved[0].holds, "up to")
        ranked = farwire.sensitivity(TRAINING, of="throughput", draws=0)
        self.assertGreater(len(ranked), 3)

    def test_explain_lists_the_source_of_a_parameter(self):
        (window,) = farwire.explain("c4140-tcp-10", "tcp.initial_window")
        self.assertEqual((window.key, window.value), ("tcp.initial_window", 10))
        self.assertIn("RFC 6928", window.note)

    def test_validate_returns_rows_and_errors_of_datasets(self):
        answer = farwire.validate("flexdirect_1050ti", draws=0)
        self.assertTrue(answer.holds)
        self.assertEqual(answer.datasets[0].test["count"], 7)
        rows = answer.rows()
        self.assertEqual(rows[0]["dataset"], "flexdirect_1050ti")
        errors = [row for row in rows if row["role"] == "test" and row["error"] is not None]
        self.assertEqual(len(errors), 7)

    def test_a_broken_bound_is_an_answer(self):
        self.pretend('echo \'{"datasets": [], "all": {}}\'; exit 3')
        self.assertFalse(farwire.validate("any").holds)

    def test_results_show_tables_and_plots_in_a_notebook(self):
        table = farwire.scale(TRAINING, gpus=[1, 2], draws=0)
        self.assertIn("<svg", table.figure._repr_svg_())
        page = table._repr_html_()
        self.assertEqual(page.count("<tr>"), 3)
        self.assertIn("<th>efficiency</th>", page)
        self.assertIn("<svg", page)
        table.figure.save(self.folder / "scale.svg")
        self.assertEqual((self.folder / "scale.svg").read_text(), table.figure.svg)
        self.assertIn("&lt;b&gt;", farwire.run(TRAINING, {**TRAINING, "name": "<b>"}, draws=0)._repr_html_())

    def test_a_result_that_the_program_does_not_draw_has_no_figure(self):
        job = {"topology": "dgx1-v100", "gpus": 2, "collective": "all_reduce"}
        answer = farwire.run(job, draws=0)
        self.assertIsNone(answer.figure)
        self.assertIn("all_reduce", answer._repr_html_())
        self.assertEqual(answer.throughput.unit, "B/s")

    def test_an_estimate_is_a_number_with_an_interval(self):
        estimate = pickle.loads(pickle.dumps(farwire.Estimate(2.5, 2, 3, "s")))
        self.assertEqual(2 * estimate, 5)
        self.assertEqual((estimate.low, estimate.high, estimate.unit), (2, 3, "s"))
        self.assertEqual(f"{estimate} {estimate:.1f}", "2.5 s (2 to 3) 2.5")
        self.assertEqual(str(farwire.Estimate(0.0043, 0.001, 0.005, "s")), "4.3 ms (1 to 5)")
        self.assertEqual(str(farwire.Estimate(4.649e11, unit="B/s")), "464.9 GB/s")
        self.assertEqual(str(farwire.Estimate(0, unit="s")), "0 s")
        self.assertEqual(str(farwire.Estimate(3600, unit="s")), "3600 s")
        nothing = farwire.Estimate(None)
        self.assertTrue(math.isnan(nothing) and nothing.value is None)
        self.assertEqual(str(nothing), "none")

    def test_a_wrong_attribute_names_the_nearest_one(self):
        with self.assertRaisesRegex(AttributeError, r"no 'thruput' \(did you mean 'throughput'\?"):
            farwire.run(TRAINING, draws=0).thruput

    def test_a_failed_case_is_an_answer_with_its_reason(self):
        answer = farwire.run(TRAINING, events=1000, draws=0)
        self.assertFalse(answer.ok)
        self.assertIsNone(answer.throughput.value)
        self.assertIn("1000 events", answer.reason)
        self.assertIn(answer.reason, str(answer))

    def test_a_frame_has_three_columns_for_an_estimate(self):
        table = farwire.scale(TRAINING, gpus=[1, 2], draws=0)
        self.assertIn("step_s_high", table.rows()[0])
        try:
            import pandas
        except ImportError:
            return
        frame = table.frame("pandas")
        self.assertIsInstance(frame, pandas.DataFrame)
        self.assertEqual(list(frame["gpus"]), [1, 2])

    def test_a_frame_without_a_library_says_what_to_install(self):
        table = farwire.scale(TRAINING, gpus=[1], draws=0)
        with mock.patch("importlib.util.find_spec", return_value=None):
            with self.assertRaisesRegex(ImportError, "pip install pandas"):
                table.frame()

    def test_an_error_has_option_and_correction(self):
        with self.assertRaises(farwire.InputError) as caught:
            farwire.run(TRAINING, batch=-8)
        error = caught.exception
        self.assertEqual((error.option, error.place, error.code), ("--batch", "--batch", 2))
        self.assertEqual(error.correction, "write a whole number from 1 to 1000000")
        self.assertRegex(error.command, r"^farwire run .*--batch=-8$")
        with self.assertRaises(farwire.InputError) as caught:
            farwire.run(TRAINING, bach=8)
        self.assertEqual(caught.exception.option, "--bach")
        self.assertEqual(caught.exception.correction, "did you mean --batch?")

    def test_an_error_in_a_file_has_its_line(self):
        path = self.folder / "my.cfg"
        path.write_text('case = {\n\ttopology = "dgx1-v100";\n\tbatch = -8;\n};\n')
        with self.assertRaises(farwire.InputError) as caught:
            farwire.run(path)
        self.assertEqual((caught.exception.file, caught.exception.line), (str(path), 3))

    def test_an_error_in_one_of_several_dictionaries_has_case_and_key(self):
        with self.assertRaises(farwire.InputError) as caught:
            farwire.compare(TRAINING, {**TRAINING, "batch": -8})
        self.assertEqual(caught.exception.place, "case 2, batch")
        self.assertNotIn("farwire-", str(caught.exception))

    def test_a_value_is_not_read_by_a_shell(self):
        with self.assertRaises(farwire.InputError) as caught:
            farwire.run(topology=f"$(touch {self.folder}/made)")
        self.assertIn("$(touch", str(caught.exception))
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_name_that_begins_with_a_dash_is_a_name(self):
        case = 'case = { topology = "dgx1-v100"; model = "resnet50"; gpus = 2; batch = 16; };'
        (self.folder / "-o.cfg").write_text(case)
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        self.assertTrue(farwire.run("-o.cfg", draws=0).ok)
        for ask_for in (farwire.run, farwire.compare, farwire.explain, farwire.validate):
            with self.assertRaisesRegex(farwire.InputError, "there is no|cannot be read"):
                ask_for("--output=made", "--output=made")
        with self.assertRaisesRegex(farwire.InputError, "is not a list"):
            farwire.names("--help")
        self.assertEqual(os.listdir(), ["-o.cfg"])

    def test_options_for_output_are_refused(self):
        for name in ("output", "format", "plot", "quiet"):
            with self.assertRaisesRegex(farwire.InputError, f"^--{name}: results are returned"):
                farwire.run(TRAINING, draws=0, **{name: "made"})

    def test_texts_that_no_program_can_take_are_errors(self):
        before = os.listdir("/proc/self/fd")
        for text in ("a\0b", "x" * 300000):
            with self.assertRaisesRegex(farwire.InputError, "an argument (has a|is too)"):
                farwire.run(TRAINING, title=text)
        self.assertEqual(len(os.listdir("/proc/self/fd")), len(before))
        # A key must not become two lines of a case file, nor include another file.
        for key in ('batch = 3; gpus', '@include "/etc/hostname"\n#', ""):
            with self.assertRaisesRegex(farwire.InputError, "is not a name of an option"):
                farwire.compare({**TRAINING, key: 1}, TRAINING)

    def test_numbers_of_other_types_and_texts_of_any_bytes_are_values(self):
        class Real(float):  # as numpy.float64 prints itself
            def __repr__(self):
                return f"np.float64({float(self)})"

        path = self.folder / "case.cfg"
        case = {"gpus": Real(2), "batch": 1 << 40, "runtime": None, "name": "a\udcff\n\"b"}
        _case.write_case(case, path, 1)
        self.assertEqual(
            path.read_bytes(),
            b'case = {\ngpus = 2.0;\nbatch = 1099511627776L;\nname = "a\xff\\n\\"b";\n'
            b"settings = [];\n};\n",
        )
        self.assertEqual(_case.words({"topology": b"a.cfg"}), ["--topology=a.cfg"])

    def test_a_process_with_many_open_files_gets_an_answer(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < 2048:
            self.skipTest("the system allows too few open files")
        resource.setrlimit(resource.RLIMIT_NOFILE, (2048, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        held = [os.open("/dev/null", os.O_RDONLY) for _ in range(1100)]
        self.addCleanup(lambda: [os.close(file) for file in held])
        self.assertTrue(farwire.run(TRAINING, draws=0).ok)

    def test_two_interrupts_end_the_program_and_leave_no_files(self):
        self.pretend("trap '' INT; echo '1 of 2 points' >&2\nexec sleep 100")
        script = (
            "import farwire, os, signal, threading\n"
            "def interrupt(progress):\n"
            "    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
            "    raise KeyboardInterrupt\n"
            "farwire.run({'topology': 'any'}, progress=interrupt)\n"
        )
        places = {"TMPDIR": str(self.folder), "PYTHONPATH": str(ROOT / "python")}
        ended = subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, **places}, capture_output=True
        )
        self.assertIn(b"KeyboardInterrupt", ended.stderr)
        self.check_ended()
        self.assertEqual(sorted(os.listdir(self.folder)), ["farwire", "pid"])

    def test_progress_reaches_a_function(self):
        self.pretend(
            "printf '\\r\\033[K5 of 10 points, 2 per second, 3 s left' >&2\n"
            "printf '\\r\\033[K10 of 10 points, 2 per second, 5 s\\nbeware\\n' >&2\n"
            "echo '{\"title\": \"t\", \"columns\": [], \"rows\": []}'"
        )
        seen = []
        table = farwire.sweep("any", progress=seen.append)
        self.assertEqual([(part.done, part.total) for part in seen], [(5, 10), (10, 10)])
        self.assertEqual(seen[0].text, "5 of 10 points, 2 per second, 3 s left")
        self.assertEqual(table.notes, ("beware",))

    def test_a_timeout_ends_the_program(self):
        self.pretend("trap '' INT; exec sleep 100")
        with mock.patch("farwire._program.STOP_S", 0.1):
            with self.assertRaisesRegex(farwire.CallTimeout, "no result after 0.5 s"):
                farwire.run("any", timeout=0.5)
        self.check_ended()

    def test_an_interrupt_ends_the_program(self):
        self.pretend("echo '1 of 2 points' >&2\nexec sleep 100")

        def interrupt(progress):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            farwire.run("any", progress=interrupt)
        self.check_ended()

    def test_a_crash_and_a_missing_program_are_errors(self):
        self.pretend("kill -SEGV $$")
        with self.assertRaisesRegex(farwire.ProgramError, "ended with -11"):
            farwire.run("any")
        with mock.patch.dict(os.environ, {"FARWIRE": str(self.folder / "none")}):
            with self.assertRaisesRegex(farwire.ProgramNotFound, "there is no program .*none"):
                farwire.run("any")

    def test_names_lists_what_is_shipped(self):
        self.assertIn("c4140-tcp-10", farwire.names("cases"))

    def test_types_are_consistent(self):
        if subprocess.run(["sh", "-c", "command -v mypy"], capture_output=True).returncode:
            self.skipTest("mypy is not installed")
        words = ["mypy", f"--cache-dir={self.folder}", "."]
        checked = subprocess.run(words, cwd=ROOT / "python", capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stdout)


class Result(unittest.TestResult):
    """Prints a line for each test, with the details of a failure before it."""

    def told(self, test, word, details=""):
        print(*("  " + line for line in details.splitlines()), sep="\n", end="\n" if details else "")
        print(word, "python." + test.id().split(".test_")[-1], flush=True)

    def addSuccess(self, test):
        self.told(test, "ok")

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.told(test, "FAIL", self._exc_info_to_string(error, test))

    addError = addFailure

    def addSkip(self, test, reason):
        print(f"  skipped: {reason}")


if __name__ == "__main__":
    names = sys.argv[1:]
    loader = unittest.defaultTestLoader
    suite = loader.loadTestsFromTestCase(Tests)
    for case in suite:
        if not names or any(name in case.id() for name in names):
            case.run(result := globals().setdefault("result", Result()))
