// SPDX-License-Identifier: Apache-2.0

/// The credential that a pool's pushes authenticate with.
public enum PoolCredential: Sendable, Equatable {
  /// A credential of the `ProviderTokenBook`, by its index there.
  case token(Int)
  /// A certificate of the `CertificateBook`.
  case certificate(Int)
}
