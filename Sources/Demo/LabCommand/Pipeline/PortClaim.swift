// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc

/// A port that one pipeline of this machine wants to have for a process of its own.
///
/// Whether a port is free is looked at some time before the process listens there: two pipelines that start at the same
/// moment would both find it free. The claim is the name of an abstract socket: it ends with the process, however that
/// ends.
final class PortClaim {
  private let descriptor: Int32

  private init(_ descriptor: Int32) { self.descriptor = descriptor }

  /// The claim to a port; nil when it is another pipeline's.
  static func take(_ port: UInt16) -> PortClaim? {
    guard let address = UnixAddress("@martlet-port-\(port)") else { return nil }
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    let claim = PortClaim(descriptor)
    return address.withPointer { bind(descriptor, $0, $1) } == 0 ? claim : nil
  }

  deinit { close(descriptor) }
}
