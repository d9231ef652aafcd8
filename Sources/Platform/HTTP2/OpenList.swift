// SPDX-License-Identifier: Apache-2.0

/// An exchange or a request that can stand in an `OpenList`. Both links are nil outside a list.
public protocol ListMember {
  var next: UnsafeMutablePointer<Self>? { get set }
  var previous: UnsafeMutablePointer<Self>? { get set }
}

/// The exchanges or requests of a connection whose streams are open, linked through themselves: adding and removing one
/// allocates nothing. The list does not own its members.
public struct OpenList<Member: ListMember> {
  public internal(set) var first: UnsafeMutablePointer<Member>?
  public internal(set) var count = 0

  public init() {}

  /// Puts a member before the first one.
  public mutating func insert(_ member: UnsafeMutablePointer<Member>) {
    member.pointee.previous = nil
    member.pointee.next = first
    first?.pointee.previous = member
    first = member
    count += 1
  }

  /// Takes out a member of this list.
  public mutating func remove(_ member: UnsafeMutablePointer<Member>) {
    let (next, previous) = (member.pointee.next, member.pointee.previous)
    next?.pointee.previous = previous
    if let previous { previous.pointee.next = next } else { first = next }
    member.pointee.next = nil
    member.pointee.previous = nil
    count -= 1
  }
}
