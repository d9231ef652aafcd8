// SPDX-License-Identifier: Apache-2.0

/// Why a request in another server's format cannot be taken: the member at fault, and the problem.
public struct CompatibilityError: Error, Equatable, Sendable, CustomStringConvertible {
  /// Empty if it is the request as a whole.
  public let field: String
  public let problem: String

  public init(_ field: String, _ problem: String) {
    self.field = field
    self.problem = problem
  }

  public var description: String { field.isEmpty ? problem : "\(field): \(problem)" }

  /// The same error at a member of `parent`.
  func within(_ parent: String) -> CompatibilityError {
    CompatibilityError(field.isEmpty ? parent : "\(parent).\(field)", problem)
  }
}
