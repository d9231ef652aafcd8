// SPDX-License-Identifier: Apache-2.0
import ServiceKit

extension ServiceFailure {
  /// Does some work that changes nothing. Its failure also says what the command has done before, which the work does
  /// not know.
  static func noting<Result>(
    _ done: String, _ work: () throws(ServiceFailure) -> Result
  ) throws(ServiceFailure) -> Result {
    do throws(ServiceFailure) { return try work() } catch {
      throw ServiceFailure("\(error); \(done)", status: error.status)
    }
  }
}
