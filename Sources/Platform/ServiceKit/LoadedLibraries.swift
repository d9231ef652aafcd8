// SPDX-License-Identifier: Apache-2.0
import Glibc
import Records

/// The C libraries that this process has loaded, with the versions that they give of themselves: a fix of the system's
/// is in use when its number is here.
enum LoadedLibraries {
  /// Those that are there, also those that only other libraries use.
  static var versions: [(name: String, version: String)] {
    [
      ("librdkafka", text("rd_kafka_version_str")),
      ("OpenSSL", openSSL),
      ("nghttp2", member("nghttp2_version")),
      ("libcurl", member("curl_version_info")),
      ("SQLite", text("sqlite3_libversion")),
      ("libpq", postgres),
      ("simdjson", JSONParser.libraryVersion),
      ("zlib", text("zlibVersion")),
    ].compactMap { name, version in version.map { (name, $0) } }
  }

  /// A function of a loaded library. Services link different ones, so none is named at build time.
  private static func function<F>(_ name: String, as type: F.Type) -> F? {
    dlsym(nil, name).map { unsafeBitCast($0, to: type) }
  }

  /// `const char *name(void)`.
  private static func text(_ name: String) -> String? {
    function(name, as: (@convention(c) () -> UnsafePointer<CChar>?).self)?().map {
      String(cString: $0)
    }
  }

  /// `struct { int age; …; const char *version; … } *name(int)`: the text is the second word of nghttp2's and curl's.
  private static func member(_ name: String) -> String? {
    let call = function(name, as: (@convention(c) (CInt) -> UnsafeRawPointer?).self)
    return call?(0)?.load(fromByteOffset: 8, as: UnsafePointer<CChar>?.self).map {
      String(cString: $0)
    }
  }

  private static var openSSL: String? {
    // OPENSSL_VERSION_STRING of openssl/crypto.h.
    let call = function(
      "OpenSSL_version", as: (@convention(c) (CInt) -> UnsafePointer<CChar>?).self)
    return call?(6).map { String(cString: $0) }
  }

  /// 150014 is 15.14 since PostgreSQL 10.
  private static var postgres: String? {
    function("PQlibVersion", as: (@convention(c) () -> CInt).self).map { call in
      let number = call()
      return "\(number / 10_000).\(number % 10_000)"
    }
  }
}
