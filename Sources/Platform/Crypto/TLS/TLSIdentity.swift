// SPDX-License-Identifier: Apache-2.0
import COpenSSL
import EventLoop
import Settings

/// A certificate with its chain, and its private key: the contents of two files (`PEMFile`), which may be one and the
/// same. The certificate is the one that the key belongs to, wherever it stands.
public struct TLSIdentity: Sendable {
  public let certificates: [UInt8]
  /// A secret.
  public let key: [UInt8]
  /// The files' names in commands that convert them.
  let certificatePath: String
  let keyPath: String

  public init(
    certificates: [UInt8], key: [UInt8], certificatePath: String = "FILE", keyPath: String = "FILE"
  ) {
    self.certificates = certificates
    self.key = key
    self.certificatePath = certificatePath
    self.keyPath = keyPath
  }

  /// Reads both files, and leaves them as PEM with the certificate first, its chain in order and the key as PKCS #8.
  ///
  /// - Throws: when a file that holds a key is no secret (`FileExposure`), one cannot be read, or the key belongs to
  ///   none of the certificates; the text names the file.
  public static func load(certificate: String, key: String) throws(TLSError) -> TLSIdentity {
    let given: TLSIdentity
    do throws(SystemError) {
      given = TLSIdentity(
        certificates: try File.read(certificate, limit: 1 << 20),
        key: try File.read(key, limit: 1 << 20), certificatePath: certificate, keyPath: key)
    } catch {
      throw TLSError(kind: .configuration, message: "\(error)")
    }
    let holdsSecret = (try? PEMFile(given.certificates))?.holdsSecret ?? false
    for path in holdsSecret ? [key, certificate] : [key] {
      let problem: String?
      do throws(SystemError) { problem = try File.exposure(of: path) } catch {
        throw TLSError(kind: .configuration, message: "\(error)")
      }
      if let problem { throw TLSError(kind: .configuration, message: problem) }
    }
    return try IdentityParts(given).identity()
  }

  /// The certificate that the key belongs to.
  public func certificate() throws(TLSError) -> PushCertificate {
    let parts = try IdentityParts(self)
    return withExtendedLifetime(parts) { PushCertificate(parts.chain[0]) }
  }
}

extension TLSIdentity {
  /// True if the first certificate of a PEM file is for a server of this DNS name or numeric address.
  public static func isCertificate(at path: String, for name: String) throws -> Bool {
    let found = try Certificates(File.read(path), path: path)
    return withExtendedLifetime(found) {
      guard let own = found.list.first else { return false }
      let isFound =
        X509_check_ip_asc(own, name, 0) == 1
        || X509_check_host(own, name, name.utf8.count, 0, nil) == 1
      ERR_clear_error()
      return isFound
    }
  }
}

/// The certificates of a file, as OpenSSL has them. Whoever uses one keeps this alive meanwhile.
final class Certificates {
  let list: [OpaquePointer]

  init(_ text: [UInt8], path: String) throws(TLSError) {
    let found: [[UInt8]]
    do throws(PEMProblem) { found = try PEMFile(text, path: path).certificates() } catch {
      throw TLSError(kind: .configuration, message: error.description)
    }
    var list: [OpaquePointer] = []
    for der in found {
      guard let certificate = Self.read(der) else {
        for certificate in list { X509_free(certificate) }
        throw TLSError.last(
          .configuration, "certificate \(list.count + 1) of \(found.count) cannot be read")
      }
      list.append(certificate)
    }
    self.list = list
  }

  deinit { for certificate in list { X509_free(certificate) } }

  private static func read(_ der: [UInt8]) -> OpaquePointer? {
    ERR_clear_error()
    return der.withUnsafeBufferPointer { bytes in
      var position = bytes.baseAddress
      return d2i_X509_AUX(nil, &position, bytes.count)
    }
  }
}

/// A certificate with its chain and its key, as OpenSSL has them. Whoever uses one keeps this alive meanwhile.
final class IdentityParts {
  let key: OpaquePointer
  /// The key's certificate, then who issued it, as far as the file tells; then the others.
  let chain: [OpaquePointer]
  private let certificates: Certificates

  init(_ identity: TLSIdentity) throws(TLSError) {
    do throws(TLSError) {
      certificates = try Certificates(identity.certificates, path: identity.certificatePath)
    } catch {
      throw TLSError(kind: .configuration, message: "\(identity.certificatePath) \(error)")
    }
    key = try Self.key(identity)
    let key = key
    let own = certificates.list.filter { X509_check_private_key($0, key) == 1 }
    ERR_clear_error()
    guard own.count == 1 else {
      EVP_PKEY_free(key)
      throw TLSError(
        kind: .configuration,
        message: own.isEmpty
          ? "the private key in \(identity.keyPath) does not belong to "
            + (certificates.list.count == 1 ? "the certificate" : "any of the certificates")
            + " in \(identity.certificatePath)"
          : "\(identity.certificatePath) holds \(own.count) certificates of one key; keep one of them in a file of its"
            + " own")
    }
    chain = Self.ordered(own[0], among: certificates.list)
  }

  deinit { EVP_PKEY_free(key) }

  private static func key(_ identity: TLSIdentity) throws(TLSError) -> OpaquePointer {
    let der: [UInt8]
    do throws(PEMProblem) {
      der = try PEMFile(identity.key, path: identity.keyPath).privateKey()
    } catch {
      throw TLSError(kind: .configuration, message: "\(identity.keyPath) \(error)")
    }
    ERR_clear_error()
    let key = der.withUnsafeBufferPointer { bytes in
      var position = bytes.baseAddress
      return d2i_AutoPrivateKey(nil, &position, bytes.count)
    }
    guard let key else {
      throw TLSError.last(.configuration, "\(identity.keyPath): the private key cannot be read")
    }
    return key
  }

  private static func ordered(
    _ leaf: OpaquePointer, among all: [OpaquePointer]
  ) -> [OpaquePointer] {
    var chain = [leaf]
    var rest = all.filter { $0 != leaf }
    while let last = chain.last,
      let next = rest.firstIndex(where: { X509_check_issued($0, last) == X509_V_OK })
    {
      chain.append(rest.remove(at: next))
    }
    return chain + rest
  }

  func identity() throws(TLSError) -> TLSIdentity {
    let (written, secret) = withExtendedLifetime(self) {
      (
        PEM.writing { sink in chain.allSatisfy { PEM_write_bio_X509(sink, $0) == 1 } ? 1 : 0 },
        PEM.writing { PEM_write_bio_PKCS8PrivateKey($0, key, nil, nil, 0, nil, nil) }
      )
    }
    guard let written, let secret else {
      throw TLSError.last(.configuration, "cannot write the certificate")
    }
    return TLSIdentity(certificates: written, key: secret)
  }
}
