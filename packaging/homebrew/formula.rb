class @class@ < Formula
  desc "@description@"
  homepage "@homepage@"
  version "@version@"
  license @licence@

  on_macos do
    on_arm do
      url "@url:aarch64-apple-darwin@"
      sha256 "@sha256:aarch64-apple-darwin@"
    end
    on_intel do
      url "@url:x86_64-apple-darwin@"
      sha256 "@sha256:x86_64-apple-darwin@"
    end
  end

  on_linux do
    on_arm do
      url "@url:aarch64-unknown-linux-musl@"
      sha256 "@sha256:aarch64-unknown-linux-musl@"
    end
    on_intel do
      url "@url:x86_64-unknown-linux-musl@"
      sha256 "@sha256:x86_64-unknown-linux-musl@"
    end
  end

  def install
    bin.install "ccstat"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/ccstat.bash" => "ccstat"
    fish_completion.install "completions/ccstat.fish"
    zsh_completion.install "completions/_ccstat"
  end

  test do
    (testpath/"run.jsonl").write <<~JSONL
      {"type":"result","subtype":"success","is_error":false,"num_turns":1,"session_id":"s","total_cost_usd":0.25}
    JSONL
    assert_match version.to_s, shell_output("#{bin}/ccstat --version")
    assert_equal "0.25", shell_output("#{bin}/ccstat summarize --json run.jsonl")[/"total_usd": ([0-9.]+)/, 1]
  end
end
