// SPDX-License-Identifier: Apache-2.0

/// Checks that the trust store has the two roots that Apple's page "Setting up a remote notification server" names.
/// Only the new one is needed: the gateways moved to it in 2025.
public enum RootFindings {
  public static let current = "USERTrust RSA Certification Authority"
  public static let former = "AAA Certificate Services"

  /// - Parameters:
  ///   - store: what was looked at: a file, or the system's store.
  ///   - hasCurrent: USERTrust RSA is trusted.
  ///   - hasFormer: AAA is trusted.
  public static func all(store: String, hasCurrent: Bool, hasFormer: Bool) -> Finding {
    guard hasCurrent else {
      let note = hasFormer ? "; the former root, \(former), is" : ""
      return .error(
        .root, store, "\(current) is not trusted\(note): connections to APNs will fail",
        remedy: "update the package ca-certificates, or add this root to the file of gateway-roots")
    }
    guard hasFormer else {
      return .ok(
        .root, store,
        "trusts \(current); \(former), which APNs used until 2025, is absent and not needed")
    }
    return .ok(.root, store, "trusts \(current) and \(former)")
  }
}
