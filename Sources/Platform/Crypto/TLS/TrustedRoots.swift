// SPDX-License-Identifier: Apache-2.0
import COpenSSL

public struct RootName: Sendable {
  public let commonName: String
  /// Short names of the fields with their values, in the order of the certificate.
  let fields: [(name: String, value: String)]

  /// The root behind APNs' gateways since 2025 (Apple, "Setting up a remote notification server").
  public static let userTrustRSA = RootName(
    commonName: "USERTrust RSA Certification Authority",
    fields: [
      ("C", "US"), ("ST", "New Jersey"), ("L", "Jersey City"), ("O", "The USERTRUST Network"),
      ("CN", "USERTrust RSA Certification Authority"),
    ])

  /// The one before it, which the same page still names.
  public static let aaaCertificateServices = RootName(
    commonName: "AAA Certificate Services",
    fields: [
      ("C", "GB"), ("ST", "Greater Manchester"), ("L", "Salford"), ("O", "Comodo CA Limited"),
      ("CN", "AAA Certificate Services"),
    ])
}

extension TLSContext {
  /// True if a root of this name is among the trusted ones.
  public func trusts(_ root: RootName) -> Bool {
    let name = X509_NAME_new()
    defer { X509_NAME_free(name) }
    for field in root.fields {
      X509_NAME_add_entry_by_txt(
        name, field.name, Int32(MBSTRING_FLAG), field.value, Int32(field.value.utf8.count), -1, 0)
    }
    let search = X509_STORE_CTX_new()
    defer { X509_STORE_CTX_free(search) }
    guard X509_STORE_CTX_init(search, SSL_CTX_get_cert_store(raw), nil, nil) == 1,
      let object = X509_STORE_CTX_get_obj_by_subject(search, X509_LU_X509, name)
    else {
      ERR_clear_error()
      return false
    }
    X509_OBJECT_free(object)
    return true
  }
}
