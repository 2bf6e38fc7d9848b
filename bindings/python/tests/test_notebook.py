# SPDX-License-Identifier: Apache-2.0
"""The package in a kernel of Jupyter: the example's notebook beside its job, and the interrupt button."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from children import LIMIT_S

pytest.importorskip("ipykernel", reason="ipykernel is not installed")
EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def job():
    """The process id of the example's job, which runs."""
    with subprocess.Popen([sys.executable, "-B", EXAMPLES / "notebook_to_job.py", "job"], stdin=subprocess.PIPE,
                          stdout=subprocess.DEVNULL) as process:
        yield process.pid
        process.communicate(b"\n", timeout=LIMIT_S)
    assert process.returncode == 0


def outputs(notebook):
    """The text that each cell of code shows."""
    return ["".join(output.get("text") or output["data"]["text/plain"] for output in cell.outputs)
            for cell in notebook.cells if cell.cell_type == "code"]


def test_notebook_of_the_example(job):
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    notebook = nbformat.read(EXAMPLES / "notebook_to_job.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert outputs(notebook) == ["", "", ""], "it is kept without outputs"
    nbclient.NotebookClient(notebook, timeout=3 * LIMIT_S, kernel_name="python3").execute()
    _, means, last = outputs(notebook)
    assert [float(mean) for mean in re.findall(r"\d\.\d+", means)] == [1.0, 2.0, 3.0]
    assert f"float32 (2, 3) of process {job}\n" in last and "3.0" in last


@pytest.fixture
def kernel():
    manager = pytest.importorskip("jupyter_client", reason="jupyter_client is not installed").KernelManager()
    manager.start_kernel()
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=3 * LIMIT_S)
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def test_the_interrupt_button_ends_a_wait(kernel):
    manager, client = kernel
    code = "import warpway\nprint('begins', flush=True)\nwarpway.Broker().get('never there', timeout=None)"
    asked = client.execute(code, stop_on_error=False)  # the next request comes at once
    while client.get_iopub_msg(timeout=LIMIT_S)["header"]["msg_type"] != "stream":
        pass
    manager.interrupt_kernel()
    while (message := client.get_shell_msg(timeout=LIMIT_S))["parent_header"]["msg_id"] != asked:
        pass
    assert (message["content"]["status"], message["content"].get("ename")) == ("error", "KeyboardInterrupt")
    reply = client.execute("assert warpway.Broker().list() is not None", reply=True, timeout=LIMIT_S)["content"]
    assert reply["status"] == "ok"
