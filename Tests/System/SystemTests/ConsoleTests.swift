// SPDX-License-Identifier: Apache-2.0
import Bytes
import JSON
import SystemTestSupport
import TestSupport
import Testing

/// The console as a person has it: in a browser, with the keyboard.
@Suite struct ConsoleTests {
  /// What Python/console.py finds to hold, in this order.
  private static let parts = [
    "the picture, and every process ready",
    "figures, picture and chart change while pushes flow",
    "Tab, Shift+Tab, Space and Enter reach and work everything", "light, dark and narrow",
    "a process that dies is shown, and that it is back",
    "figures, picture and chart change while pushes flow",
    "a page left open goes on when the console is back",
    "the browser complains of nothing, and asks nobody else",
  ]

  @Test
  func `a browser shows the pipeline live, with the keyboard alone, through deaths of processes`()
    throws
  {
    let folder = TemporaryFolder()
    let up = try BuiltProgram.start("martlet", ["up", "--dir", folder.file("up")], in: folder)
    #expect(up.prints("Ctrl-C stops everything.", withinMilliseconds: 120_000), "\(up.output)")
    let root = #filePath.split(separator: "/").dropLast(4).reduce("") { "\($0)/\($1)" }
    let python = "\(root)/.build/python/bin/python"
    guard File.exists(python) else { throw MissingProgram(name: python) }
    let looked = try BuiltProgram.run(
      python,
      [
        "-B", "\(root)/Tests/System/SystemTests/Python/console.py",
        try SystemProgram.path("chromium"), folder.file("up/addresses.json"),
        "\(try #require(up.child("martlet-sender")))",
        "\(try #require(up.child("martlet", "console")))",
      ], in: folder, withinMilliseconds: 400_000)
    #expect(looked.status == 0, "\(looked.output)")
    let held = looked.output.split(separator: "\n").filter { $0.hasPrefix("holds: ") }
    #expect(held.map { String($0.dropFirst(7)) } == Self.parts, "\(looked.output)")
    #expect(up.stop(withinMilliseconds: 60_000) == 0, "\(up.output)")
  }
}
