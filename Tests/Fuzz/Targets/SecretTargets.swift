// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
import Settings

extension FuzzTarget {
  /// Keys for provider tokens and what is sealed with them: the first line is a file of keys, the rest a text. What
  /// is sealed opens, for the same record only; nothing that anybody wrote opens.
  static func sealedToken() -> FuzzTarget {
    let known = try? TokenKeys(text: Array(String(repeating: "5a", count: 32).utf8))
    return FuzzTarget("sealed-token") { bytes in
      let head = bytes.prefix { $0 != UInt8(ascii: "\n") }
      let rest = Array(bytes.dropFirst(head.count + 1))
      let text = String(decoding: rest, as: UTF8.self)
      if let known, (try? known.open(text, context: [])) != nil { return "a forgery opens" }
      if let decoded = Base64URL.decode(rest), Array(Base64URL.encode(decoded).utf8) != rest {
        return "base64url in a second spelling"
      }
      do throws(SigningError) {
        let keys = try TokenKeys(text: head.map { $0 == UInt8(ascii: ",") ? 0x0A : $0 })
        let sealed = try keys.seal(rest, context: [1])
        guard TokenKeys.keyID(of: sealed) == keys.ids.first else {
          return "sealed with another key"
        }
        guard try keys.open(sealed, context: [1]) == rest else { return "it does not open" }
        return (try? keys.open(sealed, context: [2])) == nil ? nil : "it opens for another record"
      } catch {
        return error.description.isEmpty ? "refused without words" : nil
      }
    }
  }

  /// Files of keys and certificates in any form: what is refused is refused in words, of a file that is taken the blocks
  /// are the same with its line ends spelt out, and OpenSSL survives what comes out of it.
  static func pemFile() -> FuzzTarget {
    FuzzTarget("pem-file") { bytes in
      let content = Array(bytes)
      func entries(_ content: [UInt8]) -> Result<[PEMFile.Entry], PEMProblem> {
        Result { () throws(PEMProblem) in try PEMFile(content).entries }
      }
      switch entries(content) {
      case .failure(let problem): if problem.description.isEmpty { return "refused without words" }
      case .success(let found):
        let spelt = content.flatMap { $0 == 0x0A ? Array("\\n".utf8) : [$0] }
        let isDER = PEMFile.isDER(content) || PEMFile.isDER(spelt)
        if !isDER, !content.contains(UInt8(ascii: "\\")), entries(spelt) != .success(found) {
          return "another file with its line ends spelt out"
        }
      }
      let identity = TLSIdentity(certificates: content, key: content)
      if let certificate = try? identity.certificate(), certificate.fingerprint.isEmpty {
        return "a certificate without a fingerprint"
      }
      _ = try? TLSContext.server(identity: identity)
      return nil
    }
  }

  /// Key files in PEM: a signing key signs what its public half verifies; a public key can be written again.
  /// `@private` and `@public` stand for the halves of a good key, which is another one in each process.
  static func keyFile() -> FuzzTarget {
    let key = try? SigningKey.generate()
    let halves = [key.flatMap { try? $0.pem() }, key.flatMap { try? $0.publicKey.pem() }]
      .map { String(decoding: $0 ?? [], as: UTF8.self) }
    return FuzzTarget("key-file") { bytes in
      let text = bytes.text
      let pem =
        text.contains("@")
        ? Array(
          text.replacing("@private", with: halves[0]).replacing("@public", with: halves[1]).utf8)
        : Array(bytes)
      do throws(SigningError) {
        let key = try SigningKey(pem: pem)
        let message = Array("message".utf8)
        guard key.publicKey.verifies(message, rawSignature: try key.signES256(message)) else {
          return "a key whose signature does not hold"
        }
      } catch {
        if error.description.isEmpty { return "refused without words" }
      }
      do throws(SigningError) {
        let key = try PublicKey(pem: pem)
        _ = try PublicKey(pem: try key.pem())
        return key.verifies([1], rawSignature: [UInt8](repeating: 1, count: 64))
          ? "a signature that nobody made" : nil
      } catch {
        return error.description.isEmpty ? "refused without words" : nil
      }
    }
  }
}
