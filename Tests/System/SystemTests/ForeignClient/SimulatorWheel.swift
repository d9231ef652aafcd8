// SPDX-License-Identifier: Apache-2.0
import EventLoop
import TestSupport
import Testing

/// The simulator as a wheel with the program of this build, installed into a Python environment of its own. That also
/// sees the packages of the environment that scripts/setup made: pytest, and clients.
struct SimulatorWheel {
  private let folder: TemporaryFolder
  /// The name of the wheel's file.
  let name: String

  init(in folder: TemporaryFolder) throws {
    self.folder = folder
    let python = try SystemProgram.python()
    for tool in ["strip", "objdump", "patchelf"] { _ = try SystemProgram.path(tool) }
    let made = try BuiltProgram.run(
      SystemProgram.path("bash"),
      [
        "-euc",
        """
        cd "$1"
        "$2" -B "$3" "$4" dist
        "$2" -m venv --without-pip venv
        "$2" -m pip --python venv/bin/python install --quiet --disable-pip-version-check --no-index --no-deps \\
          --find-links dist apns-simulator
        place() { "$1" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }
        place "$2" >"$(place venv/bin/python)/clients.pth"
        """,
        "bash", folder.path, python, Repository.path("deploy/python/wheel"),
        ChildProcess.sibling("apns-simulator"),
      ], in: folder, withinMilliseconds: 180_000)
    try #require(made.status == 0, "\(made.output.suffix(2_000))")
    let line = try #require(made.output.split(separator: "\n").first { $0.hasSuffix(".whl") })
    name = line.split(separator: "/").last.map(String.init) ?? ""
  }

  /// Runs a command of the shell in a folder of the temporary one, with the environment's programs found
  /// first. What a tool keeps at home goes with the folder.
  func run(_ command: String, in place: String) throws -> (status: Int32, output: String) {
    try BuiltProgram.run(
      SystemProgram.path("bash"),
      [
        "-euc",
        """
        mkdir -p "$1/$2" && cd "$1/$2"
        export PATH="$1/venv/bin:$PATH" HOME="$1" PYTHONDONTWRITEBYTECODE=1
        \(command)
        """,
        "bash", folder.path, place,
      ], in: folder, withinMilliseconds: 300_000)
  }
}
