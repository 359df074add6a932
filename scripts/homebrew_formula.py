"""Write the Homebrew formula of a built release: `python scripts/homebrew_formula.py dist/*.tar.gz`.

The formula is for a tap: pip installs the dependencies as wheels from the package index, which homebrew-core does not
accept. Its alternative, a resource per dependency, compiles numpy, pydantic-core, tiktoken and watchfiles.
"""

from __future__ import annotations

import hashlib
import sys
import tomllib
from pathlib import Path
from string import Template

ROOT = Path(__file__).resolve().parent.parent

FORMULA = ROOT / "packaging" / "homebrew" / "session-inspector.rb"

TEXT = Template("""\
class SessionInspector < Formula
  desc "Replay sessions of AI coding agents with a smaller context, cost and risk"
  homepage "$homepage"
  url "https://files.pythonhosted.org/packages/source/s/$name/$file"
  sha256 "$sha256"
  license "$license"

  depends_on "python@3.13"

  def install
    system Formula["python@3.13"].opt_bin/"python3.13", "-m", "venv", libexec
    system libexec/"bin/python", "-m", "pip", "install", "--no-compile", buildpath
    bin.install_symlink libexec/"bin/inspector"
    man1.install_symlink libexec/"share/man/man1/inspector.1"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/inspector --version")
    sample = shell_output("#{bin}/inspector demo --list")[/^coding-agent +(.+)$$/, 1]
    assert_match "cache misses", shell_output("#{bin}/inspector why #{sample}")
  end
end
""")


def formula(sdist: Path) -> str:
    """Return the formula that installs this source distribution."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return TEXT.substitute(
        homepage=project["urls"]["Documentation"],
        name=project["name"],
        file=sdist.name,
        sha256=hashlib.sha256(sdist.read_bytes()).hexdigest(),
        license=project["license"],
    )


if __name__ == "__main__":
    FORMULA.write_text(formula(Path(sys.argv[1])), encoding="utf-8")
    print(FORMULA)
