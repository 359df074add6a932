class SessionInspector < Formula
  desc "Replay sessions of AI coding agents with a smaller context, cost and risk"
  homepage "https://session-inspector.github.io/inspector/"
  url "https://files.pythonhosted.org/packages/source/s/session-inspector/session_inspector-1.0.0.tar.gz"
  sha256 "588092f4982ad6db8acc6e229bdcaadb3a837c0111082f0e8b5dba6111a50d98"
  license "MIT"

  depends_on "python@3.13"

  def install
    system Formula["python@3.13"].opt_bin/"python3.13", "-m", "venv", libexec
    system libexec/"bin/python", "-m", "pip", "install", "--no-compile", buildpath
    bin.install_symlink libexec/"bin/inspector"
    man1.install_symlink libexec/"share/man/man1/inspector.1"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/inspector --version")
    sample = shell_output("#{bin}/inspector demo --list")[/^coding-agent +(.+)$/, 1]
    assert_match "cache misses", shell_output("#{bin}/inspector why #{sample}")
  end
end
