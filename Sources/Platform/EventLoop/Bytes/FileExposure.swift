// SPDX-License-Identifier: Apache-2.0

internal import CLinux
internal import Glibc

/// The users besides this process who may read or change a file that holds a secret.
///
/// The owner may, and a group that this process is in, as with a Kubernetes secret under `fsGroup` (mode 0440, the pod's
/// group). So may the group of root, which can read everything anyway: systemd's `LoadCredential=` leaves the file
/// with root and lets the service's user in by an access control list, whose mask then shows as the group's bits
/// (systemd.exec(5); acl(5)). No other user may. Only the owner may change it.
public struct FileExposure: Equatable, Sendable {
  /// A user or group that an access control list names. `id` is nil for the file's own group.
  public struct Grant: Equatable, Sendable {
    public var isUser: Bool
    public var id: UInt32?
    public var mayRead: Bool
  }

  /// Permission bits and the sticky bit.
  public var mode: UInt32
  public var owner: UInt32
  public var group: UInt32
  /// The access control list's grants beside the owner and the rest of the world; nil without one.
  public var list: [Grant]?

  /// True if somebody else than the owner may change the file. The group's bits are the mask of a list, if there is
  /// one.
  public var isChangeable: Bool { mode & 0o022 != 0 }

  /// True if somebody may replace files of this folder: the world, or a group that is neither root's nor one that this
  /// process is in (volumes of Kubernetes belong to the pod's group). In a sticky folder only owners may (inode(7)).
  public func isOpenFolder(in groups: [UInt32]) -> Bool {
    guard mode & 0o1000 == 0 else { return false }
    return mode & 0o002 != 0 || (mode & 0o020 != 0 && group != 0 && !groups.contains(group))
  }

  /// True if somebody may read the file who is neither root nor this process.
  public func isExposed(to user: UInt32, in groups: [UInt32]) -> Bool {
    func isOwnGroup(_ group: UInt32) -> Bool { group == 0 || groups.contains(group) }
    if mode & 0o004 != 0 { return true }
    // The group's bits are the list's mask: no entry of the list has more than it grants.
    guard mode & 0o040 != 0 else { return false }
    guard let list else { return !isOwnGroup(group) }
    return list.contains { grant in
      guard grant.mayRead else { return false }
      guard grant.isUser else { return !isOwnGroup(grant.id ?? group) }
      return grant.id != user && grant.id != owner && grant.id != 0
    }
  }
}

extension FileExposure {
  /// The attribute in which Linux keeps an access control list, and its form (linux/posix_acl_xattr.h).
  private static let listName = "system.posix_acl_access"
  private static let listVersion: UInt32 = 2
  private static let entryBytes = 8

  /// The grants of a list, from its bytes; nil if they are none.
  ///
  /// - Parameter bytes: a version of four bytes, then entries of tag, permissions (two bytes each) and id (four),
  ///   little-endian.
  public static func grants(_ bytes: [UInt8]) -> [Grant]? {
    func number(_ start: Int, _ count: Int) -> UInt32 {
      (0..<count).reduce(0) { $0 | UInt32(bytes[start + $1]) << UInt32(8 * $1) }
    }
    guard bytes.count >= 4, (bytes.count - 4) % entryBytes == 0, number(0, 4) == listVersion
    else { return nil }
    var grants: [Grant] = []
    for start in stride(from: 4, to: bytes.count, by: entryBytes) {
      let mayRead = number(start + 2, 2) & 4 != 0
      let id = number(start + 4, 4)
      switch number(start, 2) {
      case 0x02: grants.append(Grant(isUser: true, id: id, mayRead: mayRead))
      case 0x04: grants.append(Grant(isUser: false, id: nil, mayRead: mayRead))
      case 0x08: grants.append(Grant(isUser: false, id: id, mayRead: mayRead))
      default: break
      }
    }
    return grants
  }

  /// As the file is now. A list that cannot be read counts as none.
  public init(_ path: String) throws(SystemError) {
    var status = stat()
    guard stat(path, &status) == 0 else { throw File.unusable(path, "open") }
    var bytes = [UInt8](repeating: 0, count: 64 << 10)
    let count = getxattr(path, Self.listName, &bytes, bytes.count)
    self.init(
      mode: UInt32(status.st_mode) & 0o1777, owner: UInt32(status.st_uid),
      group: UInt32(status.st_gid), list: count > 0 ? Self.grants(Array(bytes[..<count])) : nil)
  }
}

extension File {
  /// Why a file may not be used for a secret, and what to do; nil when no other user can read or change it
  /// (`FileExposure`).
  public static func exposure(of path: String) throws(SystemError) -> String? {
    let exposure = try FileExposure(path)
    if exposure.isExposed(to: UInt32(geteuid()), in: ownGroups) {
      return "\(path) can be read by others: chmod 600 \(path)"
    }
    return try tampering(of: path)
  }

  /// Why a file may not decide about keys and rights, and what to do; nil when its owner alone can change it, or put
  /// another one in its place. It may be read by anybody.
  public static func tampering(of path: String) throws(SystemError) -> String? {
    if try FileExposure(path).isChangeable {
      return "\(path) can be changed by others: chmod go-w \(path)"
    }
    let folder = parent(of: path)
    guard try FileExposure(folder).isOpenFolder(in: ownGroups) else { return nil }
    return
      "the folder \(folder) can be changed by others, who could replace \(path): chmod go-w \(folder)"
  }

  private static var ownGroups: [UInt32] {
    var groups = [gid_t](repeating: 0, count: 256)
    let count = getgroups(Int32(groups.count), &groups)
    return groups[..<max(0, Int(count))].map { UInt32($0) } + [UInt32(getegid())]
  }
}
