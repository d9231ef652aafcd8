// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Settings
import Testing

@testable import Sender

@Suite struct DispatchDefaultsTests {
  /// The simulation and the tests of Core decide by the numbers that the model has by itself.
  @Test func `the model of a loop has the defaults of the sender's settings`() throws {
    let table = SenderSettings.table
    let settings = try SenderSettings(try table.read(CommandLineFlags(["--loops=1"], for: table)))
    var model = DispatchSettings()
    // It depends on the number of loops.
    model.budget = settings.dispatch.budget
    #expect("\(settings.dispatch)" == "\(model)")
  }
}
