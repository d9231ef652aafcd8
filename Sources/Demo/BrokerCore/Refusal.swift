// SPDX-License-Identifier: Apache-2.0

/// Builds the error response to a whole request: everything in the request gets the error.
public enum Refusal {
  public static func answer(to request: Value, _ api: API, _ error: ErrorCode) -> Value {
    fields(api.answer, of: request, error)
  }

  private static func fields(_ schema: [FieldSchema], of request: Value, _ error: ErrorCode)
    -> Value
  {
    .fields(
      schema.compactMap { field in
        if field.name.hasSuffix("Error") { return .init(name: field.name, value: .error(error)) }
        let asked = request[field.name]
        switch field.kind {
        case .list(.fields(let inner)):
          let elements = asked.list.map { element in
            fields(inner, of: element.isScalar ? named(element, inner) : element, error)
          }
          return .init(name: field.name, value: .list(elements))
        case .fields: return nil
        case .text, .uuid, .int:
          let isName = ["Name", "Index", "Id", "Key", "GroupId", "MemberId", "Type"].contains(
            field.name)
          return isName && !asked.isNull ? .init(name: field.name, value: asked) : nil
        default: return nil
        }
      })
  }

  /// A structure for an element that is a bare value in the request: it goes into the first field of its type.
  private static func named(_ element: Value, _ schema: [FieldSchema]) -> Value {
    let isText = element.optionalText != nil
    let field = schema.first { isText ? $0.kind == .text : $0.kind == .int(4) }
    return field.map { .fields([.init(name: $0.name, value: element)]) } ?? .null
  }
}

extension Value {
  fileprivate var isScalar: Bool {
    switch self {
    case .int, .text: true
    default: false
    }
  }
}
