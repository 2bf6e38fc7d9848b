"""heat-top in a terminal of tmux, as a person uses it."""
import os
import subprocess
import sys

from conftest import FOLDER, LIMIT_S, wait_until


class Terminal:
    """A terminal of 80 x 24 in which heat-top runs."""

    def __init__(self, folder, name, *options, term="screen-256color", width=80, height=24, prefix=()):
        self.folder = folder
        self.tmux_command = ["tmux", "-u", "-S", str(folder / "tmux"), "-f", "/dev/null"]
        self.file = folder / "status"
        command = f'{" ".join(prefix)} "{sys.executable}" -B "{FOLDER}/heat-top" --name "{name}" {" ".join(options)}'
        environment = {**os.environ, "LC_ALL": "C.UTF-8"}
        environment.pop("NO_COLOR", None)
        line = f'TERM={term} {command} 2>"{folder}/errors"; echo $? >"{self.file}"'
        size = ["-x", str(width), "-y", str(height)]
        subprocess.run([*self.tmux_command, "new-session", "-d", *size, line], env=environment, check=True)

    def tmux(self, *arguments):
        done = subprocess.run([*self.tmux_command, *arguments], capture_output=True, text=True)
        return done.stdout

    def lines(self):
        """What stands on the screen."""
        return self.tmux("capture-pane", "-p").split("\n")

    def text(self):
        return "\n".join(self.lines())

    def coloured(self):
        """The same with the sequences for colours."""
        return self.tmux("capture-pane", "-p", "-e")

    def words(self):
        """The same without line ends: long sentences take several lines."""
        return " ".join(self.text().split())

    def wait_text(self, part):
        return wait_until(lambda: part in self.words() and self.words(), self.text)

    def number(self, name):
        """A value that stands beside the picture, as text."""

        def look():
            for line in self.lines():
                if f" {name} " in line:
                    return line.split(f" {name} ", 1)[1].strip()
            return None

        return wait_until(look, self.text)

    def keys(self, *names):
        self.tmux("send-keys", *names)

    def resize(self, width, height):
        self.tmux("resize-window", "-x", str(width), "-y", str(height))

    def end(self):
        """Leaves heat-top: its status."""
        self.keys("q")
        wait_until(lambda: self.file.exists() and self.file.read_text(), self.text)
        assert (self.folder / "errors").read_text() == ""
        return int(self.file.read_text())

    def close(self):
        subprocess.run([*self.tmux_command, "kill-server"], capture_output=True, timeout=LIMIT_S)
