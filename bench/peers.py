"""Systems in processes of their own, so that none sees another's memory, threads or crashes."""

import multiprocessing

import systems

# Seconds that a query may take, and loading.
LONGEST, LOADING = 60, 600


def serve(name, threads, pipe):
    """The process of one system: answers (method, arguments)."""

    def attempt(call, *arguments):
        try:
            return call(*arguments)
        except BaseException as error:  # A system that cannot do something is marked, whatever it raised.
            return {"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}

    system = attempt(systems.SYSTEMS[name], threads)
    pipe.send(system if isinstance(system, dict) else {})
    while (asked := pipe.recv()) is not None:
        method, *arguments = asked
        pipe.send(attempt(getattr(system, method), *arguments))


class Peer:
    """A system and what it was asked: for each query the milliseconds of all runs, and the rows of the first."""

    def __init__(self, name, threads):
        self.name, self.threads = name, threads
        self.loaded, self.answers = {}, {}
        self.start()

    def start(self):
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=serve, args=(self.name, self.threads, other), daemon=True)
        self.process.start()
        other.close()
        self.broken = self.receive(LONGEST).get("error")

    def receive(self, seconds):
        try:
            return self.pipe.recv() if self.pipe.poll(seconds) else {"error": f"took longer than {seconds:g} s"}
        except (EOFError, OSError):
            return {"error": "the process ended"}

    def ask(self, seconds, *request):
        if self.broken:
            return {"error": self.broken}
        try:
            self.pipe.send(request)
        except OSError:
            pass  # It has ended, which `receive` tells.
        return self.receive(seconds)

    def load(self, files, from_files):
        self.loading = ("register" if from_files else "timed_load", files)
        self.loaded = self.ask(LOADING, *self.loading) or {}
        self.broken = self.loaded.get("error", self.broken)

    def rest(self):
        if "mebibytes" in self.loaded:
            self.loaded |= self.ask(LONGEST, "rest")

    def run(self, query, files):
        """One more run of a query. A system that hangs or has died is started again."""
        answer = self.answers.setdefault(query.name, {"times": []})
        if "error" in answer:
            return
        told = self.ask(LONGEST, "run", query, files)
        if "error" in told:
            answer["error"] = told["error"]
            if not self.broken and told["error"].startswith(("took longer", "the process")):
                self.stop()
                self.start()
                self.ask(LOADING, *self.loading)
        else:
            answer["times"].append(told["ms"])
            answer.setdefault("rows", told["rows"])

    def stop(self):
        """Its children, as Hyper's server, end with their pipes."""
        self.process.terminate()
        self.process.join(10)
