# SPDX-License-Identifier: Apache-2.0
"""deploy/convert-tokens on invented exports of each kind (Tests/Fixtures/Exports)."""
import gzip
import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[4]
SCRIPT = ROOT / "deploy/convert-tokens"
EXPORTS = ROOT / "Tests/Fixtures/Exports"
TOKEN = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"
# 2026-11-01 10:00:00 UTC
TIME = 1_793_527_200_000


def script():
    loader = importlib.machinery.SourceFileLoader("convert_tokens", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("convert_tokens", loader))
    loader.exec_module(module)
    return module


class ConverterTest(unittest.TestCase):
    def run_script(self, *arguments, data=b""):
        """The exit status, the lines without the common part of their tokens, and the errors."""
        command = [sys.executable, "-B", SCRIPT, *arguments]
        result = subprocess.run(command, input=data, capture_output=True, timeout=60)
        lines = [json.loads(line) for line in result.stdout.decode().splitlines()]
        for line in lines:
            line["token"] = line["token"].removeprefix(TOKEN)
        return result.returncode, lines, result.stderr.decode().splitlines()

    def convert(self, kind, file, *arguments):
        return self.run_script(kind, EXPORTS / file, *arguments)

    def test_onesignal(self):
        status, lines, errors = self.convert("onesignal", "onesignal.csv")
        self.assertEqual(
            lines[:2],
            [
                {
                    "token": "01", "registered_at": TIME, "user": "ann", "locale": "en", "app_version": "1.2",
                    "model": "iPhone15,2", "time_zone": "America/Los_Angeles",
                    "tags": ["plan=pro", "level=4", "nick=a_b"],
                },
                {
                    "token": "02", "environment": "sandbox", "registered_at": 1_767_261_600_000, "locale": "de",
                    "time_zone": "Europe/Zurich", "tags": ["note=two_lines"],
                },
            ],
        )
        self.assertEqual(
            lines[2:],
            [{"token": "04", "removed_at": TIME}, {"token": "05", "removed_at": 0}, {"token": "07", "locale": "de"}],
        )
        self.assertEqual(
            errors,
            [
                "line 7: last_active: is not a time",
                "line 10: the record has 2 fields, the first line 21",
                "line 11: token: is no even number of hexadecimal digits",
                "3 registrations, 2 removals written; 2 skipped (1 without a token, 1 for other platforms), 3 wrong",
            ],
        )
        self.assertEqual(status, 1)

    def test_onesignal_compressed_and_cut(self):
        data = (EXPORTS / "onesignal.csv").read_bytes()
        self.assertEqual(len(self.run_script("onesignal", data=gzip.compress(data))[1]), 5)
        status, _, errors = self.run_script("onesignal", data=gzip.compress(data)[:-200])
        self.assertEqual((status, errors[0][-45:]), (1, " the compressed file is damaged here, or ends"))
        status, lines, errors = self.run_script("onesignal", data=b'identifier,tags\nab,{}\ncd,"{')
        self.assertEqual((status, lines), (1, [{"token": "ab"}]))
        self.assertEqual(errors[0], "line 3: unexpected end of data")

    def test_parse(self):
        status, lines, errors = self.convert("parse", "parse.json")
        self.assertEqual(
            lines,
            [
                {
                    "token": "11", "app": "com.example.app", "registered_at": TIME, "user": "u1", "locale": "de-CH",
                    "app_version": "2.0", "time_zone": "Europe/Zurich", "tags": ["news", "two_words"],
                },
                {"token": "12", "registered_at": 1_795_000_000_000, "user": "u2"},
                {"token": "14", "registered_at": TIME},
            ],
        )
        self.assertEqual(
            errors[:3],
            [
                "line 8: an object is expected",
                "line 9: token: is no even number of hexadecimal digits",
                "line 9: updatedAt: is not a time",
            ],
        )
        self.assertIn("2 skipped", errors[3])
        self.assertEqual(status, 1)

    def test_objects_wherever_they_stand(self):
        one, two = '{"deviceToken":"ab","note":"}\\"{","list":[{"c":1}]}', '{"deviceToken":"cd"}'
        for text in [
            f"{one}\n{two}", f"[{one},{two}]", f"[\n  {one} ,\n{two}\n]\n", f'{{"results":[{one},{two}]}}',
            f'{{ "results" : [\n{one},\n{two} ] }}\n', f"\ufeff{one}{two}", f"[\n{{\n{one[1:]},\n{{\n{two[1:]}\n]",
        ]:
            status, lines, _ = self.run_script("parse", data=text.encode())
            self.assertEqual((status, [line["token"] for line in lines]), (0, ["ab", "cd"]), text)
        # Answers as boto3 gives them, a page in each line.
        rest = '"NextToken":"}","ResponseMetadata":{"HTTPHeaders":{"x":"{"},"RetryAttempts":0}'
        text = f'{{"Endpoints":[{{"Token":"ab"}}],{rest}}}\n{{"Endpoints": [{{"Token":"cd"}}],\n {rest}\n}}\n'
        status, lines, errors = self.run_script("sns", data=text.encode())
        self.assertEqual((status, [line["token"] for line in lines]), (0, ["ab", "cd"]), errors)
        _, lines, errors = self.run_script("sns", data=text[:-3].encode())
        self.assertEqual((len(lines), errors[0]), (2, "line 2: the file ends within it"))
        for text in [f'{{"count":2,"results":[{one},{two}]}}\n', f'[{{"count":2,\n"results":[{one},\n{two}]}}]']:
            status, lines, errors = self.run_script("parse", data=text.encode())
            self.assertEqual((status, [line["token"] for line in lines]), (0, ["ab", "cd"]), errors)
        self.assertEqual(self.run_script("sns", data=b'{"a":1,"Endpoints":[{"Token":"ab"},3,[]]}')[0], 1)
        _, lines, errors = self.run_script("parse", data=f'[{one},\n{{"open":'.encode())
        self.assertEqual((len(lines), errors[0]), (1, "line 2: the file ends within it"))

    def test_rpush(self):
        status, lines, errors = self.convert("rpush", "pg_dump.sql")
        gone = {"invalid_since": TIME, "reason": "Unregistered"}
        self.assertEqual(
            lines,
            [
                {"token": "21", "app": "com.example.shop", "environment": "production"}
                | gone | {"invalid_since": TIME + 250},
                {"token": "22", "environment": "sandbox"} | gone,
                {"token": "24", "registered_at": TIME - 3_600_000, "user": "17", "locale": "en\tGB"},
            ],
        )
        self.assertEqual(errors[:2], ["line 15: failed_at: is required", "line 16: the row has 2 values, not 5"])
        self.assertEqual(status, 1)
        self.assertEqual(len(self.convert("rpush", "pg_dump.sql", "--table", "RPUSH_notifications")[1]), 3)
        status, lines, errors = self.convert("rpush", "mysqldump.sql")
        self.assertEqual(
            lines,
            [
                {"token": "31"} | gone, {"token": "32"} | gone,
                {"token": "34", "registered_at": TIME, "locale": "a'b"},
            ],
        )
        self.assertEqual(
            errors[:4],
            [
                "line 11: failed_at: is not a time", "line 12: a row has 2 values for 4 columns",
                "line 13: the values of an INSERT do not end in this line",
                "line 15: a row has 1 values for unknown columns",
            ],
        )

    def test_backslashes(self):
        # pg_dump --inserts: they are themselves. mysqldump: they are doubled.
        values = "VALUES (1, 'ab', 'CORP\\ann'), (2, 'cd', 'O''Neil\\'), (3, 'ef', NULL);\n"
        text = "CREATE TABLE public.devices (\n  id bigint,\n  token text,\n  user_id text\n);\nINSERT INTO devices "
        for data in [
            f"SET standard_conforming_strings = on;\n{text}{values}",
            text + values.replace("\\", "\\\\"),
        ]:
            status, lines, errors = self.run_script("rpush", data=data.encode())
            users = [line.get("user") for line in lines]
            self.assertEqual((status, users), (0, ["CORP\\ann", "O'Neil\\", None]), errors)
        rows = "1\tab\tCORP\\\\ann\n2\tcd\ta''b\\\\\n"
        status, lines, errors = self.run_script(
            "rpush", data=f"COPY public.devices (id, token, user_id) FROM stdin;\n{rows}\\.\n".encode())
        self.assertEqual((status, [line.get("user") for line in lines]), (0, ["CORP\\ann", "a''b\\"]), errors)

    def test_pinpoint(self):
        _, lines, errors = self.convert("pinpoint", "pinpoint.json")
        self.assertEqual(
            lines,
            [
                {
                    "token": "41", "environment": "production", "registered_at": TIME, "user": "u1",
                    "locale": "en_US", "app_version": "1.0", "model": "iPhone", "time_zone": "America/Los_Angeles",
                    "tags": ["Interests=Music", "Interests=Big_Bands", "Plan=pro"],
                },
                {"token": "42", "environment": "sandbox", "type": "voip", "registered_at": TIME},
                {"token": "43", "environment": "production", "removed_at": TIME},
                {"token": "46", "environment": "production", "removed_at": TIME},
            ],
        )
        # A line that was cut does not take the next one with it.
        self.assertEqual(errors[:2], ["line 5: is not a JSON object", "line 6: is not a JSON object"])

    def test_sns(self):
        status, lines, errors = self.convert("sns", "sns.json")
        self.assertEqual(
            lines,
            [
                {"token": "51", "environment": "production", "user": "u1"},
                {"token": "52", "environment": "sandbox", "removed_at": 0}, {"token": "53"},
            ],
        )
        self.assertEqual(
            errors, ["2 registrations, 1 removals written; 1 skipped (1 for other platforms), 0 wrong"]
        )
        self.assertEqual(status, 0)

    def test_fcm(self):
        status, lines, errors = self.convert("fcm", "fcm.json")
        of_app = {"app": "com.example.app"}
        self.assertEqual(
            lines,
            [
                {"token": "61", "environment": "sandbox"} | of_app,
                {"token": "62", "environment": "sandbox"} | of_app, {"token": "63"}, {"token": "64"},
                {"token": "65", "registered_at": TIME, "user": "u1", "app_version": "3.1", "tags": ["news"]} | of_app,
            ],
        )
        self.assertIn("1 with a registration token alone, which APNs does not take", errors[-1])
        self.assertEqual(status, 0)
        status, lines, errors = self.run_script("fcm", data=b'{"apns_tokens":["ab","x","cd",7,"","ef"]}\n')
        self.assertEqual([line["token"] for line in lines], ["ab", "cd", "ef"])
        self.assertEqual(errors[:2], ["line 1: token: is no even number of hexadecimal digits"] * 2)
        self.assertEqual((status, errors[2]), (1, "3 registrations written; 1 skipped (1 without a token), 2 wrong"))

    def test_pusher(self):
        status, lines, errors = self.convert("pusher", "pusher.txt", "--app", "com.game", "--environment", "sandbox")
        self.assertEqual(
            lines,
            [
                {
                    "id": "push-game_apns-single/0/17", "app": "com.game", "environment": "sandbox", "token": "71",
                    "expiration": 1_795_000_001, "payload": {"aps": {"alert": "Hello"}, "M": {"id": 7}},
                },
                {
                    "app": "com.game", "environment": "sandbox", "token": "72", "collapse_id": "c",
                    "payload": {"aps": {"badge": 1}, "M": {"id": 1, "new": 3}},
                },
            ],
        )
        self.assertEqual(errors[:2], ["line 3: is not a JSON object", "line 4: payload: is required"])
        self.assertEqual(status, 1)
        self.assertEqual(self.convert("pusher", "pusher.txt")[0], 2)

    def test_times(self):
        milliseconds = script().milliseconds
        for text in [
            "2026-11-01 10:00:00", "2026-11-01T10:00:00Z", "2026-11-01 10:00:00.000000", "2026-11-01 10:00:00 UTC",
            "2026-11-01 12:00:00+02", "2026-11-01T08:30:00.000-0130", "2026-11-01 11:00:00+01:00",
            "2026-11-01 10:00", "1793527200", "1793527200000", 1_793_527_200, TIME, 1_793_527_200.0,
        ]:
            self.assertEqual(milliseconds(text), TIME, text)
        self.assertEqual(milliseconds("2026-11-01"), TIME - 36_000_000)
        self.assertEqual(milliseconds("1970-01-01 00:00:00.5"), 500)
        for text in [
            "", "2026-1-1", "2026-13-01", "2026-02-31", "2026-11-01 25:00", "2026-11-01 10:00:00 CET", "-5", "٣",
            "0000-00-00 00:00:00", True, None, -1, float("nan"), float("inf"), 10**30, "9" * 400, [],
        ]:
            self.assertIsNone(milliseconds(text), text)

    def test_what_is_too_long(self):
        long = b"x" * (5 << 20)
        rest = b'\n{"deviceToken":"abcd"}\n'
        for text in [b'{"a":"' + long + b'"}', b"nonsense" + long, b'{"a":' + b"[" * 200_000]:
            status, lines, errors = self.run_script("parse", data=text + rest)
            self.assertEqual((status, [line["token"] for line in lines]), (1, ["abcd"]), errors)
        _, lines, errors = self.run_script("onesignal", data=b"identifier\n" + long + b"\nabcd\n")
        self.assertEqual((len(lines), errors[0]), (1, "line 2: the line is too long"))
        details = {"deviceToken": "abcd", "appVersion": "x" * 257, "channels": ["a" * 200, "b" * 100, "c"]}
        _, lines, errors = self.run_script("parse", data=json.dumps(details).encode())
        self.assertEqual(lines, [{"token": "abcd", "tags": ["a" * 200, "c"]}])
        self.assertTrue(errors[0].endswith("left out, as more than 256 bytes: 1 app_version, 1 tags"))

    def test_what_no_program_writes_is_one_problem(self):
        """Of Python's own errors none ends the conversion."""
        text = f"identifier,notification_types\nab,{'9' * 5_000}\ncd,1\n"
        status, lines, errors = self.run_script("onesignal", data=text.encode())
        self.assertEqual((status, lines), (1, [{"token": "cd"}]), errors)
        self.assertEqual(errors[0], "line 2: notification_types: is not a number")
        text = "COPY devices () FROM stdin;\n\\.\nINSERT INTO devices ( ) VALUES ();\n"
        text += "INSERT INTO devices (token, ) VALUES ('ab', 1);\nINSERT INTO devices (token) VALUES ('cd');\n"
        status, lines, errors = self.run_script("rpush", data=text.encode())
        self.assertEqual((status, [line["token"] for line in lines]), (1, ["ab", "cd"]), errors)

    def test_many_blanks_take_no_time_of_their_square(self):
        table, blanks = b"CREATE TABLE devices (\n  token text\n);\n", b" " * (2 << 20)
        last = b"INSERT INTO devices VALUES ('abcd');\n"
        for literal in [b"", b"SET standard_conforming_strings = on;\n"]:
            for line in [b"INSERT INTO devices" + blanks + b"x\n", b"INSERT INTO devices VALUES (" + blanks + b"\n"]:
                status, lines, errors = self.run_script("rpush", data=literal + table + line + last)
                self.assertEqual([line["token"] for line in lines], ["abcd"], errors)
        for word, value in [(b"'ab'", "ab"), (b"cd", "cd"), (b"N'ef'", "ef"), (b"N 'ab'", "ab"), (b"c", None)]:
            parts = [b"INSERT INTO devices", b"(token)", b"VALUES", b"(", word, b")\n"]
            status, lines, errors = self.run_script("rpush", data=blanks[:99].join(parts))
            self.assertEqual([line["token"] for line in lines], [value] if value else [], errors)

    def test_what_is_not_in_utf_8(self):
        # Two users in Latin-1 are not one whose name has a U+FFFD; what is not kept may be in anything.
        rows = b"\n1\tab\tjos\xe9\tx\n2\tcd\tjos\xe8\tx\n3\tef\tann\t\xff\n\\.\n"
        table = b"COPY public.devices (id, token, user_id, other) FROM stdin;" + rows
        for kind, data in [
            ("rpush", table),
            ("onesignal", b"identifier,external_user_id,other\nab,jos\xe9,x\ncd,jos\xe8,x\nef,ann,\xff\n"),
            ("parse", b'{"deviceToken":"ab","user":{"objectId":"\\ud800"}}\n{"deviceToken":"cd","localeIdentifier":"'
             b'\\udc00"}\n{"deviceToken":"ef","other":"\\ud800","user":{"objectId":"ann"}}\n'),
        ]:
            status, lines, errors = self.run_script(kind, data=data)
            self.assertEqual((status, lines), (1, [{"token": "ef", "user": "ann"}]), errors)
            self.assertEqual([error[8:] for error in errors[:2]], ["a text is not in UTF-8"] * 2)

    def test_apps_are_bounded(self):
        rpush = script().Rpush(None)
        for number in range(10_001):
            list(rpush(("rpush_apps", {"id": str(number), "bundle_id": "a"})))
        self.assertEqual(len(rpush.apps), 10_000)

    def test_files_of_another_kind(self):
        for arguments in [
            ("onesignal", EXPORTS / "sns.json"), ("parse", "/nonexistent"), ("parse", "/"), ("other",),
            ("rpush", EXPORTS / "sns.json"),
        ]:
            self.assertEqual(self.run_script(*arguments)[0], 2, arguments)
        table = b"COPY public.gadgets (id, token) FROM stdin;\n1\tab\n\\.\n"
        self.assertEqual(self.run_script("rpush", data=table)[0], 2)
        self.assertEqual(self.run_script("rpush", "--table", "gadgets", data=table)[:2], (0, [{"token": "ab"}]))
        help_text = subprocess.run([sys.executable, SCRIPT, "--help"], capture_output=True, text=True, timeout=60)
        self.assertEqual(help_text.returncode, 0)
        self.assertIn("onesignal", help_text.stdout)

    def test_many_problems_are_counted(self):
        _, lines, errors = self.run_script("parse", data=b'{"deviceToken":"x"}\n' * 60 + b'{"deviceToken":"ab"}\n')
        self.assertEqual((len(lines), len(errors), errors[20]), (1, 22, "… and 40 more like these"))
        self.assertTrue(errors[21].endswith("60 wrong"))


if __name__ == "__main__":
    unittest.main()
