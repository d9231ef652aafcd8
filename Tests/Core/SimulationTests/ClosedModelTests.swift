// SPDX-License-Identifier: Apache-2.0
import APNS
import Delivery
import Pipeline
import TestSupport
import Testing

/// Ledger, window, pool, connections, deadlines and retries against a gateway that keeps APNs' rules and misbehaves
/// within them: limits that fall to one or none, GOAWAY at any stream, refusals, resets, every reason, silence.
@Suite("The sender's decisions against a gateway, closed model")
struct ClosedModelTests {
  @Test(
    "never above the limit, one outcome for each push, none lost, offsets in order",
    arguments: 0..<2)
  func random(_ half: Int) {
    let first = UInt64(half) * 12 + 1
    for seed in Runs.seeds(first...first + 11) {
      var model = SenderModel(seed: seed)
      var step = 0
      let steps = Runs.steps(12_000)
      while step < steps, model.broken == nil {
        model.step(kind: false)
        step += 1
      }
      // A gateway that behaves: everything comes to its end.
      var patience = 30_000
      while patience > 0, model.broken == nil, !model.isDone {
        model.step(kind: true)
        patience -= 1
      }
      Runs.report(model.broken ?? model.verdict, seed: seed, step: step)
    }
  }
}
