// SPDX-License-Identifier: Apache-2.0

/// The fault in a request of another server's format: the member and the problem.
public struct CompatibilityError: Error, Equatable, Sendable, CustomStringConvertible {
  /// Empty for the request as a whole.
  public let field: String
  public let problem: String

  public init(_ field: String, _ problem: String) {
    self.field = field
    self.problem = problem
  }

  public var description: String { field.isEmpty ? problem : "\(field): \(problem)" }

  /// The same error in a member of `parent`.
  func within(_ parent: String) -> CompatibilityError {
    CompatibilityError(field.isEmpty ? parent : "\(parent).\(field)", problem)
  }
}
