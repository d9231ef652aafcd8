// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

/// `deploy/convert-tokens`, in the language that it is written in.
@Suite struct ConverterTests {
  @Test func `the converter passes its tests`() throws {
    let script = Repository.path("Tests/Operator/OperatorTests/Python/convert_tokens_test.py")
    let result = try BuiltProgram.run(
      "/usr/bin/env", ["python3", "-B", script], in: TemporaryFolder(),
      withinMilliseconds: 120_000)
    #expect(result.status == 0, "\(result.output.suffix(4_000))")
  }
}
