# SPDX-License-Identifier: Apache-2.0
"""``python -m warpway demo``."""

import argparse
import sys

import warpway
from warpway._demo import demo


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m warpway")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("demo", help="hand an array to another process, and print what was done")
    verb.add_argument("--device", help="such as cuda:0 or host; default: the first GPU, else host")
    options = parser.parse_args()
    try:
        demo(options.device)
    except (warpway.Unsupported, warpway.NoDevice) as error:
        print(f"this platform cannot run the demo: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
